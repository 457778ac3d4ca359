#include "bench/postgres/relay.hpp"

#include "bench/measure.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <thread>

namespace sagabox::bench::postgres {
namespace {

constexpr std::chrono::microseconds look_interval{200};

}  // namespace

OutboxOptions deleting() {
  OutboxOptions options;
  options.retention = Duration{};
  return options;
}

void await_delivered(const Outbox& outbox, std::uint64_t count) {
  constexpr auto stall_max = std::chrono::seconds(30);
  auto moved = Steady::now();
  for (std::uint64_t seen = outbox.snapshot().delivered; seen < count;) {
    std::this_thread::sleep_for(look_interval);
    const auto delivered = outbox.snapshot().delivered;
    if (delivered != seen) moved = Steady::now();
    seen = delivered;
    if (Steady::now() - moved > stall_max) {
      throw std::runtime_error(
          fmt::format("stuck: {} of {} messages settled, none for 30 s", seen, count));
    }
  }
}

void await_shards(const Outbox& outbox, std::uint32_t count) {
  const auto begin = Steady::now();
  while (outbox.snapshot().shards_owned < count) {
    std::this_thread::sleep_for(look_interval);
    if (seconds_since(begin) > 60) throw std::runtime_error("the outbox got no shards for 60 s");
  }
}

double drain(World& in, std::int64_t rows, const OutboxOptions& options) {
  const auto store = in.open();
  auto outbox = Outbox::single_process(*store, options).value();
  outbox.listen(Topic(topic), [](const Delivery&) { return done(); }).value();
  outbox.start().value();
  await_shards(outbox, store->outbox().capabilities().shards);
  const auto begin = Steady::now();
  const auto before = outbox.snapshot().delivered;
  await_delivered(outbox, static_cast<std::uint64_t>(rows));
  const auto took = seconds_since(begin);
  outbox.stop().value();
  in.require(0, options.retention > Duration{} ? rows : 0);
  return static_cast<double>(rows - static_cast<std::int64_t>(before)) / took;
}

}  // namespace sagabox::bench::postgres
