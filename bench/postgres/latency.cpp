#include "bench/baselines/postgres/elsewhere.hpp"
#include "bench/postgres/bench.hpp"
#include "bench/postgres/relay.hpp"
#include "bench/postgres/world.hpp"
#include "bench/postgres/writers.hpp"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

namespace sagabox::bench::postgres {
namespace {

using by_hand::Elsewhere;

/// When each message of the other process reached its handler.
class Arrivals {
 public:
  explicit Arrivals(std::uint32_t count) : at_(count, 0) {}

  Outcome note(const Delivery& delivery) {
    const auto now = Steady::now().time_since_epoch().count();
    const auto text = delivery.message().payload().view();
    std::uint32_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    const std::scoped_lock lock(mutex_);
    if (number < at_.size() && at_[number] == 0) at_[number] = now;
    return done();
  }

  /// From the return of COMMIT; a handler that was faster than that took no time.
  std::vector<double> microseconds_since(const Elsewhere& writer) {
    const std::scoped_lock lock(mutex_);
    std::vector<double> taken;
    for (std::uint32_t number = 0; number < at_.size(); ++number) {
      if (at_[number] == 0) throw std::runtime_error("a message of the other process is missing");
      const Steady::duration took{
          std::max<Steady::rep>(0, at_[number] - writer.committed_at(number))};
      taken.push_back(std::chrono::duration<double, std::micro>(took).count());
    }
    return taken;
  }

 private:
  std::mutex mutex_;
  std::vector<Steady::rep> at_;
};

Latency latency(Elsewhere::Load load, std::optional<Writers::Load> beside) {
  world().clear();
  // As with the server's own default of max_prepared_transactions, which the test server raises:
  // where transactions may be prepared a NOTIFY has to be asked for.
  load.url = world().url() + " options='-c sagabox.notify=on'";
  Elsewhere writer(load);
  Arrivals arrivals(load.messages);
  const auto store = world().open();
  auto outbox = Outbox::single_process(*store).value();
  outbox
      .listen(Topic("bench.elsewhere.sent.v1"),
              [&](const Delivery& delivery) { return arrivals.note(delivery); })
      .value();
  outbox.listen(Topic(topic), [](const Delivery&) { return done(); }).value();
  outbox.start().value();
  await_shards(outbox, store->outbox().capabilities().shards);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::uint64_t written = load.messages;
  {
    std::optional<Writers> others;
    if (beside) others.emplace(*beside, [&] { return outbox.snapshot().delivered; });
    writer.go();
    writer.join();
    if (others) written += others->stop();
  }
  await_delivered(outbox, written);
  outbox.stop().value();
  world().require(0, static_cast<std::int64_t>(written));
  return latency_of(arrivals.microseconds_since(writer));
}

}  // namespace

void latency_idle(const Size& size, Report& report) {
  if (!world().has_function("enqueue")) {
    for (const auto* name : {"postgres.latency.idle.p50_ms", "postgres.latency.idle.p99_ms"}) {
      report.skip(name, "this schema has no function sagabox.enqueue, which wakes the relay");
    }
    return;
  }
  const auto seen = latency({.messages = size.hand_overs / 10, .by_function = true}, {});
  report.add({.name = "postgres.latency.idle.p50_ms",
              .value = seen.p50 / 1000,
              .unit = "ms",
              .baseline_name = "none: COMMIT elsewhere to handler",
              .goal = Goal{Goal::Kind::below, 1}});
  report.add({.name = "postgres.latency.idle.p99_ms",
              .value = seen.p99 / 1000,
              .unit = "ms",
              .baseline_name = "none: COMMIT elsewhere to handler",
              .goal = Goal{Goal::Kind::below, 5}});
}

void latency_busy(const Size& size, Report& report) {
  const auto seen = latency({.messages = size.hand_overs / 10,
                             .open = std::chrono::milliseconds(5),
                             .pause = std::chrono::milliseconds(5),
                             .by_function = world().has_function("enqueue")},
                            Writers::Load{.pause = std::chrono::milliseconds(10)});
  report.add({.name = "postgres.latency.busy.p99_ms",
              .value = seen.p99 / 1000,
              .unit = "ms",
              .baseline_name = "none: beside 2 writers, batches of 100"});
}

}  // namespace sagabox::bench::postgres
