// Works on requests of a store: file= or url= schema=, what= effects= keys= from= lease_ms= renews=
// ready= go= dies=
//   race   `threads` run every key, the first of them `from`; a line in `effects` for each that was
//          worked on
//   hold   is let through with key k0, makes `ready`, waits for `go`, finishes; its outcome in
//   `effects` inbox  takes every key in a transaction that writes a message, too; dies=before,
//   after: its commit
#include "crash/eventually.hpp"
#include "crash/settings.hpp"

#include <sagabox/idempotency.hpp>
#include <sagabox/random.hpp>
#include <sagabox/stores/postgres.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace sagabox::crash {
namespace {

void append_line(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const auto text = line + "\n";
  (void)!write(file, text.data(), text.size());
  close(file);
}

std::unique_ptr<Store> open_given(const Settings& given) {
  const auto file = given.text("file");
  if (!file.empty()) return sqlite::open(file, {.lock_max = std::chrono::minutes(1)}).value();
  return postgres::open(given.text("url"), {.schema = given.text("schema")}).value();
}

class Program {
 public:
  explicit Program(const Settings& given) : given_(given), store_(open_given(given)) {}

  void run() {
    const auto what = given_.text("what");
    if (what == "race") return race();
    if (what == "hold") return hold();
    inbox();
  }

 private:
  std::unique_ptr<Guard> guard() {
    const std::chrono::milliseconds lease(given_.number("lease_ms", 15'000));
    const bool renews = given_.number("renews", 1) != 0;
    return Guard::create(*store_, {.consumer = "billing", .lease = lease, .renews_itself = renews})
        .value();
  }

  void race() {
    const auto guard = this->guard();
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < given_.number("threads", 1); ++i) {
      threads.emplace_back([&] { run_all(*guard); });
    }
  }

  void run_all(Guard& guard) {
    const auto keys = given_.number("keys", 1);
    const auto from = given_.number("from", 0);
    for (std::uint64_t i = 0; i < keys; ++i) {
      const auto key = "k" + std::to_string((from + i) % keys);
      for (;;) {
        const auto done = guard.run("acme", key, sha256(key), [&](const std::stop_token&) {
          append_line(given_.text("effects"), key);
          return Result<GuardedResult>(GuardedResult{"result of " + key});
        });
        if (done.ok() && done->result == "result of " + key) break;
        if (!done.ok() && done.error().code == Code::tx_idempotent_busy) continue;
        append_line(given_.text("effects"), done.ok() ? "wrong result" : done.error().text());
        break;
      }
    }
  }

  void hold() {
    const auto guard = this->guard();
    auto held = std::get<Held>(guard->enter("acme", "k0", sha256("k0")).value());
    append_line(given_.text("ready"), "ready");
    (void)eventually([&] { return std::filesystem::exists(given_.text("go")); });
    const auto done = held.finish({"late"});
    append_line(given_.text("effects"),
                done.ok() ? "finished" : std::string(code_name(done.error().code)));
  }

  void inbox() {
    const auto table = TableName::parse("orders").value();
    UlidSource ids(system_clock(), system_random());
    const auto keys = given_.number("keys", 1);
    for (std::uint64_t i = 0; i < keys; ++i) {
      const auto tx = store_->begin().value();
      if (!tx->inbox().first_time("acme", "billing", "k" + std::to_string(i)).value()) continue;
      const auto message = std::make_shared<const Message>(
          Message::build({.topic = "orders.order.placed.v1", .payload = json("{}")}, MessageRules{},
                         ids, system_clock())
              .value());
      (void)tx->outbox().insert(table, std::span(&message, 1)).value();
      if (given_.text("dies") == "before") std::raise(SIGKILL);
      tx->commit().value();
      if (given_.text("dies") == "after") std::raise(SIGKILL);
    }
  }

  const Settings& given_;
  std::unique_ptr<Store> store_;
};

}  // namespace
}  // namespace sagabox::crash

int main(int count, char** arguments) {
  try {
    const sagabox::crash::Settings given(count, arguments);
    sagabox::crash::Program(given).run();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
