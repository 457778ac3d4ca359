#include "simulation/variants.hpp"

#include <utility>

namespace sagabox::simulation {
namespace {

/// Does not know which reads are out: a settled row is forgotten at once.
class ForgetfulTracker final : public outbox::Tracker {
 public:
  outbox::ReadTicket read_begun() override { return {}; }
  void read_seen(outbox::ReadTicket) override {}
  bool admit(Sequence sequence) override { return real_->admit(sequence); }
  void settled(Sequence sequence) override { real_->settled(sequence); }
  void forget(Sequence sequence) override { real_->forget(sequence); }
  void reserve(Sequence sequence, BootTime expires) override { real_->reserve(sequence, expires); }
  bool claim(Sequence sequence) override { return real_->claim(sequence); }
  void cancel(Sequence sequence) override { real_->cancel(sequence); }
  void expire_reservations(BootTime now) override { real_->expire_reservations(now); }
  void clear_except(const std::function<bool(Sequence)>& keep) override {
    real_->clear_except(keep);
  }
  [[nodiscard]] bool in_hand(Sequence sequence) const override { return real_->in_hand(sequence); }
  [[nodiscard]] std::size_t size() const override { return real_->size(); }

 private:
  std::unique_ptr<outbox::Tracker> real_ = outbox::make_tracker();
};

/// Lets everybody settle under the name of the present owner.
class FencelessStore final : public ForwardingStore {
 public:
  FencelessStore(spi::OutboxStore& to, Truth truth)
      : ForwardingStore(to), truth_(std::move(truth)) {}

  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override {
    const auto census = truth_();
    spi::SettleReply all;
    for (const auto& fence : request.fences) {
      std::vector<spi::Settlement> items;
      for (const auto& item : request.items) {
        if (item.shard == fence.shard) items.push_back(item);
      }
      const auto& owner = census.shards[fence.shard.value];
      const spi::Fence present{.shard = fence.shard, .epoch = owner.epoch};
      auto reply = ForwardingStore::settle({.table = request.table,
                                            .owner = owner.owner,
                                            .fences = std::span(&present, 1),
                                            .items = items,
                                            .retain_done = request.retain_done});
      if (!reply.ok()) return reply;
      all.parts.push_back(reply->parts.front());
      all.timeline = reply->timeline;
    }
    return all;
  }

 private:
  Truth truth_;
};

/// Believes that rows commit in the order of their sequence.
class OrderlyStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  [[nodiscard]] spi::Capabilities capabilities() const override {
    auto capabilities = ForwardingStore::capabilities();
    capabilities.late_commits = spi::LateCommits::none;
    return capabilities;
  }
  Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                              std::size_t bytes_max) override {
    auto reply = ForwardingStore::read(table, ranges, bytes_max);
    if (reply.ok()) reply->horizon.reset();
    return reply;
  }
};

}  // namespace

std::unique_ptr<spi::OutboxStore> store_of(Variant variant, spi::OutboxStore& store, Truth truth) {
  if (variant == Variant::store_without_fence) {
    return std::make_unique<FencelessStore>(store, std::move(truth));
  }
  if (variant == Variant::reading_without_late_commits) {
    return std::make_unique<OrderlyStore>(store);
  }
  return std::make_unique<ForwardingStore>(store);
}

outbox::TrackerFactory tracker_of(Variant variant) {
  if (variant != Variant::tracker_without_stale_read_rule) return outbox::make_tracker;
  return [] { return std::make_unique<ForgetfulTracker>(); };
}

}  // namespace sagabox::simulation
