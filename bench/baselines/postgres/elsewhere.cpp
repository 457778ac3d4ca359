#include "bench/baselines/postgres/elsewhere.hpp"

#include "bench/baselines/postgres/link.hpp"
#include "bench/measure.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

namespace sagabox::bench::by_hand {

Elsewhere::Elsewhere(const Load& load) : messages_(load.messages) {
  void* shared = mmap(nullptr, messages_ * sizeof(std::int64_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2];
  if (shared == MAP_FAILED || pipe(ends) != 0) throw std::runtime_error("no memory to share");
  committed_ = static_cast<std::int64_t*>(shared);
  start_ = ends[1];
  process_ = fork();
  if (process_ == 0) {
    close(ends[1]);
    int status = 0;
    try {
      write(load, ends[0]);
    } catch (const std::exception& error) {
      fmt::print(stderr, "the writing process: {}\n", error.what());
      status = 1;
    }
    _exit(status);
  }
  close(ends[0]);
}

Elsewhere::~Elsewhere() {
  if (start_ >= 0) close(start_);
  int status = 0;
  if (process_ > 0) waitpid(process_, &status, 0);
  munmap(committed_, messages_ * sizeof(std::int64_t));
}

void Elsewhere::write(const Load& load, int started) const {
  char byte = 0;
  if (read(started, &byte, 1) != 1) return;
  Link link(load.url);
  link.prepare("write", load.by_function
                            ? "SELECT sagabox.enqueue($1::text, $2::text)"
                            : "INSERT INTO sagabox.default_outbox (topic, payload) VALUES "
                              "($1::text, convert_to($2::text, 'UTF8'))");
  for (std::uint32_t number = 0; number < load.messages; ++number) {
    link.sql("BEGIN");
    link.call("write", Values().text("bench.elsewhere.sent.v1").text(std::to_string(number)));
    std::this_thread::sleep_for(load.open);
    link.sql("COMMIT");
    std::atomic_ref(committed_[number]).store(Steady::now().time_since_epoch().count());
    std::this_thread::sleep_for(load.pause);
  }
}

void Elsewhere::go() {
  if (::write(start_, "g", 1) != 1) throw std::runtime_error("the writing process has gone");
}

void Elsewhere::join() {
  int status = 0;
  waitpid(std::exchange(process_, -1), &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error("the writing process failed");
  }
}

std::int64_t Elsewhere::committed_at(std::uint32_t number) const {
  return std::atomic_ref(committed_[number]).load();
}

}  // namespace sagabox::bench::by_hand
