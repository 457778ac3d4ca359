#include "bench/core.hpp"

#include "bench/baselines/hand_over.hpp"
#include "bench/baselines/queue_loop.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/stores/memory.hpp>

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace sagabox::bench::core {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::string_view topic = "bench.core.sent.v1";
constexpr std::uint32_t keys = 10'000;
constexpr std::size_t payload_bytes = 100;
constexpr std::uint32_t batch = 1000;
/// Long enough that every thread of an idle engine sleeps again.
constexpr microseconds pause{1000};

NewMessage draft(std::uint32_t number) {
  const auto head = fmt::format(R"({{"number": {}, "text": ")", number);
  return {.topic = Topic(topic),
          .key = number % 2 == 0 ? std::string() : fmt::format("key-{}", number / 2 % keys),
          .payload = json(head + std::string(payload_bytes - head.size() - 2, 'x') + "\"}")};
}

void write_messages(memory::MemoryStore& store, Outbox& outbox, std::uint32_t count) {
  for (std::uint32_t first = 0; first < count; first += batch) {
    std::vector<NewMessage> drafts;
    for (auto number = first; number < std::min(count, first + batch); ++number) {
      drafts.push_back(draft(number));
    }
    store.transaction([&](OwnedTransaction& tx) { return outbox.write_all(tx, std::move(drafts)); })
        .value();
  }
}

/// Settled is what the store says, not what the engine believes.
void require_settled(memory::MemoryStore& store, std::uint64_t count) {
  const auto table = TableName::parse(OutboxOptions{}.table).value();
  const auto stats = store.outbox_admin().stats(table).value();
  if (stats.done == count && stats.pending == 0 && stats.dead == 0 && stats.quarantined == 0) {
    return;
  }
  throw std::runtime_error(
      fmt::format("{} messages were written, but the store has {} done, {} pending, {} dead and "
                  "{} quarantined",
                  count, stats.done, stats.pending, stats.dead, stats.quarantined));
}

void await_delivered(const Outbox& outbox, std::uint64_t count) {
  constexpr auto stall_max = std::chrono::seconds(30);
  auto moved = Steady::now();
  for (std::uint64_t seen = 0; seen < count;) {
    std::this_thread::sleep_for(milliseconds(1));
    const auto delivered = outbox.snapshot().delivered;
    if (delivered != seen) moved = Steady::now();
    seen = delivered;
    if (Steady::now() - moved > stall_max) {
      throw std::runtime_error(
          fmt::format("stuck: {} of {} messages settled, none for 30 s", seen, count));
    }
  }
}

double dispatch_rate(std::uint32_t count) {
  memory::MemoryStore store;
  auto outbox = Outbox::single_process(store).value();
  outbox.listen(Topic(topic), [](const Delivery&) { return done(); }).value();
  write_messages(store, outbox, count);
  const auto begin = Steady::now();
  outbox.start().value();
  await_delivered(outbox, count);
  const auto took = seconds_since(begin);
  outbox.stop().value();
  require_settled(store, count);
  return count / took;
}

QueueLoop dispatch_baseline(const Size& size) {
  UlidSource ids(system_clock(), system_random());
  std::vector<std::shared_ptr<const Message>> messages;
  messages.reserve(size.messages);
  for (std::uint32_t number = 0; number < size.messages; ++number) {
    messages.push_back(std::make_shared<const Message>(
        Message::build(draft(number), {}, ids, system_clock()).value()));
  }
  return best_queue_loop(messages, size.repeats);
}

/// From the call of commit to the first line of the handler.
Latency hot_latency(std::uint32_t count) {
  memory::MemoryStore store;
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
  while (outbox.snapshot().shards_owned < store.outbox().capabilities().shards) {
    std::this_thread::sleep_for(pause);
  }
  std::this_thread::sleep_for(milliseconds(200));

  std::vector<double> taken;
  taken.reserve(count);
  for (std::uint32_t number = 1; number <= count; ++number) {
    auto tx = store.begin().value();
    outbox.write(*tx, draft(2 * number)).value();
    const auto begin = Steady::now();
    tx->commit().value();
    do std::this_thread::sleep_for(pause);
    while (handled.load(std::memory_order_acquire) < number);
    taken.push_back(std::chrono::duration<double, std::micro>(arrived - begin).count());
  }
  await_delivered(outbox, count);
  outbox.stop().value();
  require_settled(store, count);
  return latency_of(std::move(taken));
}

/// One thread; with a message in every transaction, or with the business row alone.
double transaction_rate(std::uint32_t count, bool with_message) {
  memory::MemoryStore store;
  auto outbox = Outbox::writer_only(store).value();
  auto connection = store.connect();
  const auto begin = Steady::now();
  for (std::uint32_t number = 0; number < count; ++number) {
    connection.begin().value();
    connection.put("orders", std::to_string(number), "two chairs").value();
    std::optional<memory::Enlisted> tx;
    if (with_message) {
      tx.emplace(memory::enlist(connection).value());
      outbox.write(*tx, draft(number)).value();
    }
    connection.commit().value();
    if (tx) tx->committed();
  }
  const auto took = seconds_since(begin);
  if (store.count("orders") != count) throw std::runtime_error("the store lost business rows");
  const auto table = TableName::parse(OutboxOptions{}.table).value();
  if (store.outbox_admin().stats(table)->pending != (with_message ? count : 0)) {
    throw std::runtime_error("the store lost messages");
  }
  return count / took;
}

}  // namespace

void dispatch(const Size& size, Report& report) {
  const auto value = best_rate(size.repeats, [&] { return dispatch_rate(size.messages); });
  const auto baseline = dispatch_baseline(size);
  report.add({.name = "core.dispatch",
              .value = value,
              .unit = "messages/s",
              .baseline = baseline.messages_per_second,
              .baseline_name = baseline.name,
              .goal = Goal{Goal::Kind::at_least, 1e6}});
}

void hot(const Size& size, Report& report) {
  const auto ours = best_latency(size.repeats, [&] { return hot_latency(size.hand_overs); });
  const auto bare = best_latency(size.repeats, [&] { return hand_over(size.hand_overs, pause); });
  const std::string against = "condition variable between threads";
  report.add({.name = "core.hot.p50_us",
              .value = ours.p50,
              .unit = "us",
              .baseline = bare.p50,
              .baseline_name = against,
              .goal = Goal{Goal::Kind::below, 50}});
  report.add({.name = "core.hot.p99_us",
              .value = ours.p99,
              .unit = "us",
              .baseline = bare.p99,
              .baseline_name = against});
}

void write(const Size& size, Report& report) {
  const auto count = size.messages / 5;
  report.add({.name = "core.write",
              .value = best_rate(size.repeats, [&] { return transaction_rate(count, true); }),
              .unit = "transactions/s",
              .baseline = best_rate(size.repeats, [&] { return transaction_rate(count, false); }),
              .baseline_name = "the same without a message"});
}

}  // namespace sagabox::bench::core
