// Delivers from a file, and writes to it, until it is killed or, without writers, until SIGTERM:
// file= notes= promises= name= seed= writers= retains= dies_at= broken=
// or only holds its write lock: file= holds=, a file that is made when it has it
#include "crash/handler.hpp"
#include "crash/settings.hpp"
#include "crash/sqlite/producer.hpp"
#include "support/sqlite_database.hpp"
#include "support/sqlite_vfs.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <atomic>
#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <thread>
#include <vector>

namespace sagabox::crash {
namespace {

using std::chrono::milliseconds;

sigset_t end_signals() {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  return end;
}

void wait_for_end() {
  const auto end = end_signals();
  int signal = 0;
  sigwait(&end, &signal);
}

OutboxOptions options_of(const Settings& given, Logger& log) {
  OutboxOptions options;
  options.table = "orders";
  options.poll_interval = milliseconds(20);
  options.dispatch_timeout = std::chrono::minutes(10);
  options.drain_timeout = std::chrono::minutes(1);
  options.retry.backoff_min = milliseconds(1);
  options.retry.backoff_max = milliseconds(20);
  // Whatever is killed beside them, messages do not die of it here.
  options.retry.attempts_max = 100'000;
  if (given.number("retains", 1) == 0) options.retention = {};
  options.log = &log;
  return options;
}

int run(const Settings& given) {
  testing::WatchedVfs vfs("sagabox-killed");
  std::atomic<std::uint64_t> acts = 0;
  const auto dies_at = given.number("dies_at", UINT64_MAX);
  vfs.watch([&](testing::WatchedVfs::Act, std::string_view) {
    if (++acts == dies_at) std::raise(SIGKILL);
    return SQLITE_OK;
  });
  const auto file = given.text("file");
  const auto broken = given.text("broken");
  const auto store = sqlite::open(file, {.lock_max = std::chrono::minutes(1),
                                         .wal_bytes_max = 512UL * 1024,
                                         .vfs = vfs.name()})
                         .value();
  const Journal notes(given.text("notes"));
  const Journal promises(given.text("promises"));
  const auto log = stderr_log({.level = LogLevel::warning});
  auto outbox = Outbox::several_processes(*store, options_of(given, *log)).value();
  outbox.listen("orders.order.placed.v1", Handler(notes, broken == "answers_early", {})).value();
  outbox.start().value();
  std::vector<std::thread> writers;
  for (std::uint64_t number = 0; number < given.number("writers", 0); ++number) {
    writers.emplace_back([&, number] {
      produce_until_killed(*store, outbox,
                           {.file = file,
                            .vfs = vfs.name(),
                            .name = given.text("name") + "-" + std::to_string(number),
                            .seed = given.number("seed", 1) * 100 + number,
                            .promises_early = broken == "promises_early"},
                           promises);
    });
  }
  for (auto& writer : writers) writer.join();
  wait_for_end();
  outbox.stop().value();
  return 0;
}

int hold(const Settings& given) {
  const auto connection = testing::connect_sqlite(given.text("file"), std::chrono::seconds(10));
  testing::run_sql(connection.get(), "BEGIN EXCLUSIVE; INSERT INTO held VALUES (1)");
  std::ofstream(given.text("holds")).put('\n');
  wait_for_end();
  testing::run_sql(connection.get(), "COMMIT");
  return 0;
}

int begin(int count, char** arguments) {
  // Before any thread, so that the end is told to the one that waits for it.
  const auto end = end_signals();
  pthread_sigmask(SIG_BLOCK, &end, nullptr);
  const Settings given(count, arguments);
  return given.text("holds").empty() ? run(given) : hold(given);
}

}  // namespace
}  // namespace sagabox::crash

int main(int count, char** arguments) {
  try {
    return sagabox::crash::begin(count, arguments);
  } catch (const std::exception& error) {
    std::cerr << "sqlite: " << error.what() << '\n';
    return 1;
  }
}
