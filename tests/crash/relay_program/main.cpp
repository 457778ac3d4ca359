// Delivers until SIGTERM: url= schema= notes= lease_ms= work_us= retention_s= broken=
// and writes as a producer does: writers= transactions= seed= name= promises=
#include "crash/producer.hpp"
#include "crash/relay_program/watched.hpp"
#include "crash/settings.hpp"

#include <sagabox/stores/postgres.hpp>

#include <unistd.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

namespace sagabox::crash {
namespace {

using std::chrono::milliseconds;

std::string header(const Delivery& delivery, std::string_view name) {
  for (const auto& [key, value] : delivery.headers()) {
    if (key == name) return value;
  }
  return {};
}

Delivered note_of(const Delivery& delivery, Delivered::Kind kind) {
  return {.kind = kind,
          .id = delivery.id().str(),
          .sequence = delivery.sequence().value,
          .shard = delivery.shard().value,
          .epoch = delivery.epoch().value,
          .attempt = delivery.attempt(),
          .process = getpid()};
}

/// Does what the message asks of its handler, and notes it.
class Handler {
 public:
  Handler(const Journal& notes, bool answers_early, std::chrono::microseconds goes_on_for)
      : notes_(notes), early_(answers_early), goes_on_for_(goes_on_for) {}

  Outcome operator()(const Delivery& delivery) {
    using Kind = Delivered::Kind;
    if (const auto until = header(delivery, "hold"); !until.empty()) {
      notes_.append(note_of(delivery, Kind::held).line());
      const auto mine = until + "." + std::to_string(getpid());
      while (!std::filesystem::exists(mine)) std::this_thread::sleep_for(milliseconds(2));
    }
    const auto fails = header(delivery, "fails");
    if (!fails.empty() && delivery.attempt() <= std::stoul(fails)) {
      notes_.append(note_of(delivery, Kind::failed).line());
      return retry("asked to fail");
    }
    auto note = note_of(delivery, Kind::done).line();
    if (!early_) {
      notes_.append(std::move(note));
      // Whoever is killed here has delivered and says so to nobody.
      std::this_thread::sleep_for(goes_on_for_);
      return done();
    }
    // Broken: says that it is done, and does it afterwards.
    std::thread([this, note = std::move(note)] {
      std::this_thread::sleep_for(std::chrono::seconds(10));
      notes_.append(note);
    }).detach();
    return done();
  }

 private:
  const Journal& notes_;
  bool early_;
  std::chrono::microseconds goes_on_for_;
};

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
  options.retention = std::chrono::seconds(given.number("retention_s", 7 * 86'400));
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
