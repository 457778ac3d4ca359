#pragma once

#include "core/scopes.hpp"
#include "outbox/dispatch/dispatcher.hpp"
#include "outbox/dispatch/room.hpp"
#include "outbox/dispatch/unrouted.hpp"
#include "outbox/read/intake.hpp"
#include "outbox/read/shards.hpp"
#include "outbox/settle/settler.hpp"
#include "outbox/upkeep/control_reader.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/spi/outbox_store.hpp>

namespace sagabox::outbox {

/// Parts that tests replace.
struct RelayParts {
  feed::TrackerFactory tracker = feed::make_tracker;
  const spi::Gate* gate = nullptr;
  IntakeOptions intake{};
  KeyMemory key_memory{};
  std::size_t refused_rows_max = RefusedRows::rows_max_default;
};

/// The pipeline of one outbox table: intake → dispatcher → settler, for the owned shards. It has no
/// thread: every stage is a step of plan → one call of the store → apply, and the caller of the
/// steps passes the time.
class Relay final : public ownership::Holder {
 public:
  /// All arguments outlive the relay.
  Relay(spi::OutboxStore& store, spi::ControlStore& control, const TableName& table,
        const OutboxOptions& options, const Registry& registry, RelayParts parts = {});
  /// Waits for messages held by the sink.
  ~Relay() override;
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] static spi::Scope scope_of(const TableName& table) { return outbox_scope(table); }
  /// Sets the worker with the lease; call it before the first step.
  void attach(ownership::Worker& worker) noexcept { shards_.attach(worker); }

  Intake& intake() noexcept { return intake_; }
  Dispatcher& dispatcher() noexcept { return dispatcher_; }
  Settler& settler() noexcept { return settler_; }
  ControlReader& controls() noexcept { return controls_; }
  Shards& shards() noexcept { return shards_; }
  [[nodiscard]] const Unrouted& unrouted() const noexcept { return unrouted_; }

  /// A message was committed in this process that the hot path did not take.
  void wake();
  /// Housekeeping, a few times a second.
  void tick(BootTime now);

  [[nodiscard]] OutboxSnapshot snapshot() const;
  /// nullopt if the shard of this pending message is not ours.
  [[nodiscard]] std::optional<OwnerView> owner_view(const MessageRecord& record);
  /// How many rows are known to the trackers, settled ones included.
  [[nodiscard]] std::size_t tracked() const;

  void acquired(const spi::OwnedShard& shard, const WorkerId& owner, Timeline timeline) override;
  void drain(Shard shard) override;
  [[nodiscard]] bool idle(Shard shard) const override;
  void lost(Shard shard) override;

 private:
  /// See OwnerView::bound.
  [[nodiscard]] std::string bound() const;
  /// Classes that were closed may go again.
  void reopen();
  void reopen_unrouted();
  /// Mode `leader`: whether it is us.
  void show_leader();

  spi::OutboxStore& store_;
  const TableName& table_;
  const OutboxOptions& options_;
  Room room_;
  Unrouted unrouted_;
  Pauses pauses_;
  Shards shards_;
  Dispatcher dispatcher_;
  Intake intake_;
  Settler settler_;
  ControlReader controls_;
};

}  // namespace sagabox::outbox
