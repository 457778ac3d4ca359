#include "bench/postgres/relay.hpp"

#include "bench/measure.hpp"

#include <fmt/format.h>

#include <functional>
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

namespace {

void await(const std::function<std::uint64_t()>& settled, std::uint64_t count) {
  constexpr auto stall_max = std::chrono::seconds(30);
  auto moved = Steady::now();
  for (std::uint64_t seen = settled(); seen < count;) {
    std::this_thread::sleep_for(look_interval);
    const auto now = settled();
    if (now != seen) moved = Steady::now();
    seen = now;
    if (Steady::now() - moved > stall_max) {
      throw std::runtime_error(
          fmt::format("stuck: {} of {} messages settled, none for 30 s", seen, count));
    }
  }
}

}  // namespace

void await_delivered(const Outbox& outbox, std::uint64_t count) {
  await([&] { return outbox.snapshot().delivered; }, count);
}

void await_all_delivered(const std::vector<Outbox>& outboxes, std::uint64_t count) {
  await(
      [&] {
        std::uint64_t delivered = 0;
        for (const auto& outbox : outboxes) delivered += outbox.snapshot().delivered;
        return delivered;
      },
      count);
}

void await_shards(const Outbox& outbox, std::uint32_t count) {
  const auto begin = Steady::now();
  while (outbox.snapshot().shards_owned < count) {
    std::this_thread::sleep_for(look_interval);
    if (seconds_since(begin) > 60) throw std::runtime_error("the outbox got no shards for 60 s");
  }
}

namespace {

double drain_with(Outbox outbox, std::uint32_t shards, World& in, std::int64_t rows,
                  const OutboxOptions& options) {
  outbox.listen(Topic(topic), [](const Delivery&) { return done(); }).value();
  outbox.start().value();
  await_shards(outbox, shards);
  const auto begin = Steady::now();
  const auto before = outbox.snapshot().delivered;
  await_delivered(outbox, static_cast<std::uint64_t>(rows));
  const auto took = seconds_since(begin);
  outbox.stop().value();
  in.require(0, options.retention > Duration{} ? rows : 0);
  return static_cast<double>(rows - static_cast<std::int64_t>(before)) / took;
}

}  // namespace

double drain(World& in, std::int64_t rows, const OutboxOptions& options) {
  const auto store = in.open();
  return drain_with(Outbox::single_process(*store, options).value(),
                    store->outbox().capabilities().shards, in, rows, options);
}

double drain_shared(World& in, std::int64_t rows, const OutboxOptions& options) {
  const auto store = in.open();
  return drain_with(Outbox::several_processes(*store, options).value(),
                    store->outbox().capabilities().shards, in, rows, options);
}

}  // namespace sagabox::bench::postgres
