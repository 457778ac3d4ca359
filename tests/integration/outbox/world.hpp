#pragma once

#include <sagabox/outbox.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

/// What tests of running outboxes have in common.
namespace sagabox::integration {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Waits for a condition that other threads bring about; generous, so that only a fault fails it.
template <class Condition>
[[nodiscard]] bool eventually(Condition&& condition, Duration limit = seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

/// What listeners were given, in the order they began.
class Inbox {
 public:
  struct Received {
    std::string id;
    std::string payload;
    std::string key;
    std::uint64_t sequence = 0;
    std::uint32_t attempt = 0;
    std::uint64_t epoch = 0;
  };

  void add(const Delivery& d) {
    const std::lock_guard lock(mutex_);
    received_.push_back({d.id().str(), std::string(d.payload().view()), d.key(), d.sequence().value,
                         d.attempt(), d.epoch().value});
  }
  [[nodiscard]] std::vector<Received> all() const {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return received_.size();
  }
  [[nodiscard]] std::map<std::string, std::size_t> times_by_id() const {
    std::map<std::string, std::size_t> times;
    for (const auto& received : all()) ++times[received.id];
    return times;
  }
  [[nodiscard]] std::vector<std::string> payloads_of_key(std::string_view key) const {
    std::vector<std::string> payloads;
    for (const auto& received : all()) {
      if (received.key == key) payloads.push_back(received.payload);
    }
    return payloads;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Received> received_;
};

/// Handlers wait at it until the test opens it.
class Barrier {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    opened_.wait(lock, [&] { return open_; });
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }
  [[nodiscard]] std::size_t arrived() const {
    const std::lock_guard lock(mutex_);
    return arrived_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable opened_;
  std::size_t arrived_ = 0;
  bool open_ = false;
};

inline constexpr const char* topic = "orders.order.placed.v1";

inline NewMessage placed(std::string payload = "{}", std::string key = {}) {
  return {.topic = topic, .key = std::move(key), .payload = json(std::move(payload))};
}

class OutboxWorld : public ::testing::Test {
 protected:
  static OutboxOptions defaults() {
    OutboxOptions options;
    options.table = "orders";
    options.retry.backoff_min = milliseconds(1);
    options.retry.backoff_max = milliseconds(5);
    options.poll_interval = milliseconds(5);
    options.lease = seconds(30);
    return options;
  }
  OutboxOptions watched(OutboxOptions options = defaults()) {
    options.metrics = &metrics;
    options.audit = &audit;
    options.log = &log;
    return options;
  }
  /// Started, with one listener.
  Outbox running(Listener listener, OutboxOptions options) {
    auto outbox = Outbox::single_process(store, std::move(options)).value();
    outbox.listen(topic, std::move(listener)).value();
    outbox.start().value();
    EXPECT_TRUE(eventually([&] { return outbox.snapshot().shards_owned == 16; }));
    return outbox;
  }
  Listener into_inbox() {
    return [this](const Delivery& d) {
      inbox.add(d);
      return done();
    };
  }
  Written write(Outbox& outbox, NewMessage message) {
    return *store
                .transaction(
                    [&](OwnedTransaction& tx) { return outbox.write(tx, std::move(message)); })
                .value();
  }
  [[nodiscard]] spi::TableStats stats() {
    return store.outbox_admin().stats(TableName::parse("orders").value()).value();
  }
  [[nodiscard]] bool settles_to(std::uint64_t done, std::uint64_t dead = 0) {
    return eventually([&] {
      const auto now = stats();
      return now.pending == 0 && now.done == done && now.dead == dead;
    });
  }
  [[nodiscard]] std::vector<memory::Inspected> rows() const {
    return store.inspect(TableName::parse("orders").value());
  }
  double counted(std::string_view name) const { return metrics.counter_sum(name); }

  memory::MemoryStore store;
  testing::RecordingMetrics metrics;
  testing::RecordingAudit audit;
  testing::RecordingLogger log;
  Inbox inbox;
  Barrier barrier;
};

}  // namespace sagabox::integration
