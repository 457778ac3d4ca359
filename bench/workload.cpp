#include "bench/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

namespace sagabox::bench {
namespace {

constexpr std::chrono::milliseconds look_interval{1};

}  // namespace

std::string payload_of(std::int64_t number) {
  const auto head = fmt::format(R"({{"number": {}, "text": ")", number);
  return head + std::string(payload_bytes - head.size() - 2, 'x') + "\"}";
}

std::string key_of(std::int64_t number) {
  // Not every second one: where messages without a key are spread by their sequence, all of them
  // would come to the shards of one parity.
  constexpr auto spread = 0x9E3779B97F4A7C15U;
  const bool has_key = (static_cast<std::uint64_t>(number) * spread) >> 63 == 1;
  return has_key ? fmt::format("key-{}", number / 2 % keys) : std::string();
}

NewMessage draft(std::uint64_t number) {
  const auto at = static_cast<std::int64_t>(number);
  return {.topic = Topic(topic), .key = key_of(at), .payload = json(payload_of(at))};
}

void write_messages(Store& store, Outbox& outbox, std::uint64_t count, std::uint64_t batch) {
  for (std::uint64_t first = 0; first < count; first += batch) {
    std::vector<NewMessage> drafts;
    drafts.reserve(std::min(batch, count - first));
    for (auto number = first; number < std::min(count, first + batch); ++number) {
      drafts.push_back(draft(number));
    }
    (void)store
        .transaction([&](OwnedTransaction& tx) { return outbox.write_all(tx, std::move(drafts)); })
        .value();
  }
}

OutboxOptions deleting() {
  OutboxOptions options;
  options.retention = Duration{};
  return options;
}

void await_settled(const std::function<std::uint64_t()>& settled, std::uint64_t count,
                   std::chrono::microseconds pause) {
  constexpr auto stall_max = std::chrono::seconds(30);
  auto moved = Steady::now();
  for (std::uint64_t seen = settled(); seen < count;) {
    std::this_thread::sleep_for(pause);
    const auto now = settled();
    if (now != seen) moved = Steady::now();
    seen = now;
    if (Steady::now() - moved > stall_max) {
      throw std::runtime_error(fmt::format("stuck: {} of {} settled, none for 30 s", seen, count));
    }
  }
}

void await_delivered(const Outbox& outbox, std::uint64_t count) {
  await_settled([&] { return outbox.snapshot().delivered; }, count);
}

void await_all_delivered(const std::vector<Outbox>& outboxes, std::uint64_t count) {
  await_settled(
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

double drain(Outbox outbox, std::uint32_t shards, std::int64_t rows, By by) {
  if (by == By::listener) {
    outbox.listen(Topic(topic), [](const Delivery&) { return done(); }).value();
  }
  outbox.start().value();
  await_shards(outbox, shards);
  const auto begin = Steady::now();
  const auto before = outbox.snapshot().delivered;
  await_delivered(outbox, static_cast<std::uint64_t>(rows));
  const auto took = seconds_since(begin);
  outbox.stop().value();
  return static_cast<double>(rows - static_cast<std::int64_t>(before)) / took;
}

std::vector<double> hot_microseconds(Store& store, std::uint32_t count, const BeginOfTime& begin,
                                     const WriteBeside& beside) {
  auto outbox = Outbox::single_process(store).value();
  std::atomic<std::uint32_t> handled{0};
  Steady::time_point arrived;
  outbox
      .listen(Topic(topic),
              [&](const Delivery&) {
                arrived = Steady::now();
                handled.fetch_add(1, std::memory_order_release);
                return done();
              })
      .value();
  outbox.start().value();
  await_shards(outbox, store.outbox().capabilities().shards);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));

  std::vector<double> taken;
  taken.reserve(count);
  for (std::uint32_t number = 1; number <= count; ++number) {
    auto tx = store.begin().value();
    if (beside) beside(*tx, number);
    auto message = draft(number);
    message.key.clear();  // those with a key are read, not handed over
    outbox.write(*tx, std::move(message)).value();
    const auto called = Steady::now();
    tx->commit().value();
    do std::this_thread::sleep_for(idle_pause);
    while (handled.load(std::memory_order_acquire) < number);
    taken.push_back(std::chrono::duration<double, std::micro>(arrived - begin(called)).count());
  }
  await_delivered(outbox, count);
  outbox.stop().value();
  return taken;
}

}  // namespace sagabox::bench
