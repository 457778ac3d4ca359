#include "bench/core.hpp"

#include "bench/baselines/hand_over.hpp"
#include "bench/baselines/queue_loop.hpp"
#include "bench/workload.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/stores/memory.hpp>

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace sagabox::bench::core {
namespace {

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
  const auto taken =
      hot_microseconds(store, count, [](Steady::time_point called) { return called; });
  require_settled(store, count);
  return latency_of(taken);
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
  const auto bare =
      best_latency(size.repeats, [&] { return hand_over(size.hand_overs, idle_pause); });
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
