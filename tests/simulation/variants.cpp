#include "simulation/variants.hpp"

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sagabox::simulation {
namespace {

/// Does not know which reads are out: a settled row is forgotten at once.
class ForgetfulTracker final : public feed::Tracker {
 public:
  feed::ReadTicket read_begun() override { return {}; }
  void read_seen(feed::ReadTicket) override {}
  bool admit(Sequence sequence) override { return real_->admit(sequence); }
  void settled(Sequence sequence) override { real_->settled(sequence); }
  void forget(Sequence sequence) override { real_->forget(sequence); }
  void reserve(Sequence sequence, BootTime expires) override { real_->reserve(sequence, expires); }
  bool claim(Sequence sequence) override { return real_->claim(sequence); }
  void cancel(Sequence sequence) override { real_->cancel(sequence); }
  void expire_reservations(BootTime now) override { real_->expire_reservations(now); }
  void clear() override { real_->clear(); }
  [[nodiscard]] bool in_hand(Sequence sequence) const override { return real_->in_hand(sequence); }
  [[nodiscard]] std::size_t size() const override { return real_->size(); }

 private:
  std::unique_ptr<feed::Tracker> real_ = feed::make_tracker();
};

/// Lets everybody settle under the name of the present owner.
class FencelessStore final : public ForwardingStore {
 public:
  FencelessStore(spi::OutboxStore& to, Truth truth)
      : ForwardingStore(to), truth_(std::move(truth)) {}

  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override {
    const auto census = truth_();
    spi::SettleReply all;
    for (const auto& fence : request.fencing.fences) {
      std::vector<spi::Settlement> items;
      for (const auto& item : request.items) {
        if (item.shard == fence.shard) items.push_back(item);
      }
      const auto& owner = census.shards[fence.shard.value];
      const spi::Fence present{.shard = fence.shard, .epoch = owner.epoch};
      auto reply =
          ForwardingStore::settle({.table = request.table,
                                   .fencing = {request.fencing.scope, owner.owner, {&present, 1}},
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

/// Shows a replayed row at the place it had before, as if it had been updated there.
class InPlaceStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                              std::size_t bytes_max) override {
    auto reply = ForwardingStore::read(table, ranges, bytes_max);
    if (!reply.ok()) return reply;
    std::vector<spi::Row> shown;
    std::size_t at = 0;
    for (std::size_t part = 0; part < reply->parts.size(); ++part) {
      const auto rows = reply->parts[part].rows;
      for (std::uint32_t number = 0; number < rows; ++number, ++at) {
        auto& row = reply->rows[at];
        const auto place = first_.try_emplace(row.id.str(), row.sequence).first->second;
        if (row.replays > 0 && place <= ranges[part].after) {
          --reply->parts[part].rows;
        } else {
          shown.push_back(std::move(row));
        }
      }
    }
    reply->rows = std::move(shown);
    return reply;
  }

 private:
  std::unordered_map<std::string, Sequence> first_;
};

/// Shows nothing of a lane in which this many keys are known to wait behind closed classes, as if
/// it were not read any more until they open.
class BoundedKeysStore final : public ForwardingStore {
 public:
  BoundedKeysStore(spi::OutboxStore& to, const spi::Gate& gate)
      : ForwardingStore(to), gate_(gate) {}

  Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                              std::size_t bytes_max) override {
    auto reply = ForwardingStore::read(table, ranges, bytes_max);
    if (!reply.ok()) return reply;
    std::vector<spi::Row> shown;
    auto row = reply->rows.begin();
    for (std::size_t at = 0; at < reply->parts.size(); ++at) {
      auto& part = reply->parts[at];
      auto& keys = blocked_[{ranges[at].shard, ranges[at].lane}];
      std::erase_if(keys, [this](const auto& key) { return !gate_.closed(key.second); });
      const auto end = row + part.rows;
      if (keys.size() >= blocked_keys_max) {
        part = {};
        row = end;
      }
      for (; row != end; ++row) {
        note(*row, keys);
        shown.push_back(std::move(*row));
      }
    }
    reply->rows = std::move(shown);
    return reply;
  }

 private:
  static constexpr std::size_t blocked_keys_max = 2;
  using Keys = std::map<std::uint64_t, spi::ClassId>;

  void note(const spi::Row& row, Keys& keys) const {
    if (!row.message || !row.message->has_key()) return;
    const auto id = gate_.class_of(*row.message);
    if (id && gate_.closed(*id)) keys[row.message->key_hash()] = *id;
  }

  const spi::Gate& gate_;
  std::map<std::pair<Shard, spi::Lane>, Keys> blocked_;
};

/// Takes whatever is old.
class GreedyPurge final : public ForwardingAdmin {
 public:
  using ForwardingAdmin::ForwardingAdmin;
  Result<spi::PurgeReply> purge(const spi::PurgeRequest& request) override {
    auto also = request;
    also.state = MessageState::pending;
    (void)ForwardingAdmin::purge(also);
    return ForwardingAdmin::purge(request);
  }
};

/// Writes down first how far a job has come, and replays then.
class HastyJobs final : public ForwardingControl {
 public:
  explicit HastyJobs(Store& store) : ForwardingControl(store.control()), store_(store) {}

  Result<std::vector<ReplayJob>> jobs(const TableName& table) override {
    auto all = ForwardingControl::jobs(table);
    if (!all.ok()) return all;
    for (auto& job : *all) {
      const auto& progress = progress_[job.id.value];
      job.replayed = progress.replayed;
      if (progress.finished) job.state = ReplayJob::State::finished;
    }
    return all;
  }

  Result<spi::JobAdvanceReply> advance_job(const spi::JobAdvance& request) override {
    auto all = jobs(request.table);
    if (!all.ok()) return all.error();
    for (auto& job : *all) {
      if (job.id == request.job && job.state == ReplayJob::State::running) {
        return advance(request, job);
      }
    }
    return ForwardingControl::advance_job(request);
  }

 private:
  struct Progress {
    Sequence cursor{};
    std::uint64_t replayed = 0;
    bool finished = false;
  };

  Result<spi::JobAdvanceReply> advance(const spi::JobAdvance& request, ReplayJob& job) {
    auto& progress = progress_[job.id.value];
    auto filter = job.filter;
    filter.last = job.last;
    const auto rows = store_.outbox_admin().list({.table = request.table,
                                                  .state = job.from,
                                                  .filter = filter,
                                                  .after = progress.cursor,
                                                  .rows_max = request.rows_max});
    if (!rows.ok()) return rows.error();
    std::vector<MessageId> ids;
    for (const auto& row : rows->rows) {
      ids.push_back(row.id);
      progress.cursor = row.sequence;
    }
    if (!ids.empty()) {
      const auto moved = store_.outbox_admin().move({.table = request.table, .ids = ids});
      if (!moved.ok()) return moved.error();
      progress.replayed += ids.size();
    }
    if (rows->exhausted) {
      (void)ForwardingControl::change_job(
          {.table = request.table, .job = job.id, .to = ReplayJob::State::stopped});
      progress.finished = true;
      job.state = ReplayJob::State::finished;
    }
    job.replayed = progress.replayed;
    return spi::JobAdvanceReply{
        .held = true, .rows = static_cast<std::uint32_t>(ids.size()), .job = job};
  }

  Store& store_;
  std::map<std::uint64_t, Progress> progress_;
};

}  // namespace

std::unique_ptr<spi::OutboxAdminStore> admin_of(Variant variant, spi::OutboxAdminStore& store) {
  if (variant == Variant::purge_takes_pending) return std::make_unique<GreedyPurge>(store);
  return std::make_unique<ForwardingAdmin>(store);
}

std::unique_ptr<spi::ControlStore> control_of(Variant variant, Store& store) {
  if (variant == Variant::job_cursor_apart) return std::make_unique<HastyJobs>(store);
  return std::make_unique<ForwardingControl>(store.control());
}

std::unique_ptr<spi::OutboxStore> store_of(Variant variant, spi::OutboxStore& store, Truth truth,
                                           const spi::Gate& gate) {
  if (variant == Variant::store_without_fence) {
    return std::make_unique<FencelessStore>(store, std::move(truth));
  }
  if (variant == Variant::reading_without_late_commits) {
    return std::make_unique<OrderlyStore>(store);
  }
  if (variant == Variant::replay_in_place) return std::make_unique<InPlaceStore>(store);
  if (variant == Variant::closed_gate_stops_reading) {
    return std::make_unique<BoundedKeysStore>(store, gate);
  }
  return std::make_unique<ForwardingStore>(store);
}

feed::TrackerFactory tracker_of(Variant variant) {
  if (variant != Variant::tracker_without_stale_read_rule) return feed::make_tracker;
  return [] { return std::make_unique<ForgetfulTracker>(); };
}

}  // namespace sagabox::simulation
