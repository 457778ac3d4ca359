#pragma once

#include "crash/journal.hpp"
#include "support/forwarding.hpp"

#include <sagabox/metrics.hpp>
#include <sagabox/store.hpp>

#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::crash {

/// Counters by name, whatever their labels.
class Totals final : public Metrics {
 public:
  Counter& counter(std::string_view name, std::span<const Label>) override {
    const std::lock_guard lock(mutex_);
    return counters_[std::string(name)];
  }
  Gauge& gauge(std::string_view name, std::span<const Label> labels) override {
    return no_metrics().gauge(name, labels);
  }
  Histogram& histogram(std::string_view name, std::span<const Label> labels) override {
    return no_metrics().histogram(name, labels);
  }
  void write(const Journal& notes) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, total] : counters_) {
      notes.append("figure " + name + " " + std::to_string(total.value.load()));
    }
  }

 private:
  struct Total final : Counter {
    void add(double amount) override { value.fetch_add(amount); }
    std::atomic<double> value{0};
  };
  mutable std::mutex mutex_;
  std::map<std::string, Total> counters_;
};

/// Notes what the database refuses, or breaks a rule that a test wants to see broken:
/// "without_fence": settles whoever owns the shard by now; "without_order": reads messages without
/// their keys.
class WatchedOutbox final : public testing::ForwardingStore {
 public:
  WatchedOutbox(Store& database, const Journal& notes, std::string broken)
      : ForwardingStore(database.outbox()),
        database_(database),
        notes_(notes),
        broken_(std::move(broken)) {}

  Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                              std::size_t bytes_max) override {
    auto reply = ForwardingStore::read(table, ranges, bytes_max);
    if (!reply.ok() || broken_ != "without_order") return reply;
    for (auto& row : reply->rows) row.message = without_key(*row.message);
    return reply;
  }

  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override {
    auto reply =
        broken_ == "without_fence" ? settle_unfenced(request) : ForwardingStore::settle(request);
    if (!reply.ok()) return reply;
    for (std::size_t at = 0; at < request.fencing.fences.size(); ++at) {
      if (reply->parts[at].held) continue;
      notes_.append(Refused{.shard = request.fencing.fences[at].shard.value,
                            .epoch = request.fencing.fences[at].epoch.value,
                            .process = getpid()}
                        .line());
    }
    return reply;
  }

 private:
  static std::shared_ptr<const Message> without_key(const Message& message) {
    return std::make_shared<const Message>(
        Message::restore({.id = message.id(),
                          .fields = {.topic = message.topic(),
                                     .payload = message.payload(),
                                     .headers = message.headers(),
                                     .occurred_at = message.occurred_at()},
                          .digest = message.digest()}));
  }

  Result<spi::SettleReply> settle_unfenced(const spi::SettleRequest& request) {
    const auto census = database_.ownership().census(spi::Scope(request.fencing.scope));
    if (!census.ok()) return census.error();
    spi::SettleReply whole;
    for (const auto& fence : request.fencing.fences) {
      const auto& owner = census->shards.at(fence.shard.value);
      const spi::Fence now{fence.shard, owner.epoch};
      std::vector<spi::Settlement> items;
      for (const auto& item : request.items) {
        if (item.shard == fence.shard) items.push_back(item);
      }
      auto part =
          ForwardingStore::settle({.table = request.table,
                                   .fencing = {request.fencing.scope, owner.owner, {&now, 1}},
                                   .items = items,
                                   .retain_done = request.retain_done});
      if (!part.ok()) return part.error();
      whole.parts.push_back(part->parts.at(0));
      whole.timeline = part->timeline;
    }
    return whole;
  }

  Store& database_;
  const Journal& notes_;
  std::string broken_;
};

class WatchedStore final : public Store {
 public:
  WatchedStore(Store& database, const Journal& notes, std::string broken)
      : database_(database), outbox_(database, notes, std::move(broken)) {}
  spi::OutboxStore& outbox() override { return outbox_; }
  spi::OutboxAdminStore& outbox_admin() override { return database_.outbox_admin(); }
  spi::ControlStore& control() override { return database_.control(); }
  spi::OwnershipStore& ownership() override { return database_.ownership(); }
  spi::AuditStore& audit() override { return database_.audit(); }
  Result<std::unique_ptr<OwnedTransaction>> begin() override { return database_.begin(); }
  [[nodiscard]] std::string name() const override { return database_.name(); }

 private:
  Store& database_;
  WatchedOutbox outbox_;
};

}  // namespace sagabox::crash
