// Delivers until SIGTERM: url= schema= notes= lease_ms= work_us= broken=
// and writes as a producer does: writers= transactions= seed= name= promises=
#include "crash/handler.hpp"
#include "crash/producer.hpp"
#include "crash/relay_program/watched.hpp"
#include "crash/settings.hpp"

#include <sagabox/stores/postgres.hpp>

#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <thread>

namespace sagabox::crash {
namespace {

using std::chrono::milliseconds;

int run(const Settings& given) {
  const Journal notes(given.text("notes"));
  const auto broken = given.text("broken");
  const auto schema = given.text("schema");
  const auto database =
      patiently([&] { return postgres::open(given.text("url"), {.schema = schema}); });
  WatchedStore store(*database, notes, broken);
  Totals totals;

  OutboxOptions options;
  options.table = "orders";
  options.lease = milliseconds(given.number("lease_ms", 60'000));
  options.poll_interval = milliseconds(20);
  options.dispatch_timeout = std::chrono::minutes(10);
  options.drain_timeout = std::chrono::minutes(1);
  options.retry.backoff_min = milliseconds(1);
  options.retry.backoff_max = milliseconds(20);
  // Whatever is killed beside them, messages do not die of it here.
  options.retry.attempts_max = 100'000;
  options.metrics = &totals;
  const auto log = stderr_log({.level = LogLevel::warning});
  options.log = log.get();

  auto outbox = patiently([&] { return Outbox::several_processes(store, options); });
  outbox
      .listen(topic, Handler(notes, broken == "answers_early",
                             std::chrono::microseconds(given.number("work_us", 0))))
      .value();
  outbox.start().value();
  std::thread writer;
  if (const auto writers = given.number("writers", 0); writers > 0) {
    writer = std::thread([&, writers] {
      const Journal promises(given.text("promises"));
      produce(store, outbox,
              {.url = given.text("url"),
               .schema = schema,
               .name = given.text("name"),
               .seed = given.number("seed", 1),
               .connections = static_cast<std::uint32_t>(writers),
               .transactions = static_cast<std::uint32_t>(given.number("transactions", 100))},
              promises);
    });
  }
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  int signal = 0;
  sigwait(&end, &signal);
  if (writer.joinable()) writer.join();
  outbox.stop().value();
  totals.write(notes);
  return 0;
}

}  // namespace
}  // namespace sagabox::crash

int main(int count, char** arguments) {
  // Before any thread, so that the end is told to the one that waits for it.
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &end, nullptr);
  try {
    return sagabox::crash::run(sagabox::crash::Settings(count, arguments));
  } catch (const std::exception& error) {
    std::cerr << "relay: " << error.what() << '\n';
    return 1;
  }
}
