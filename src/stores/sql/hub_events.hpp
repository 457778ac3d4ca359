#pragma once

#include "stores/sql/hub_records.hpp"

#include <sagabox/spi/event_store.hpp>
#include <sagabox/spi/event_writer.hpp>

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sagabox::sql {

/// Run on connections of callers, too: they qualify what they use.
struct HubPublishStatements {
  explicit HubPublishStatements(Sections& sections);

  Statement publish;
  Statement known;
  Statement unpublish;
};

/// The events of a transaction. `open` gives a session in it, or TX.NO_TRANSACTION.
class TransactionEvents final : public EventWriter {
 public:
  using Open = std::function<Result<std::unique_ptr<Session>>()>;
  using Told = std::function<void()>;
  /// `clock`: of a database that has none itself; null: its SQL knows the time. `told`: that events
  /// were published.
  TransactionEvents(const HubPublishStatements& statements, const Clock* clock,
                    std::uint16_t shards, Open open, Told told = {})
      : statements_(&statements),
        clock_(clock),
        shards_(shards),
        open_(std::move(open)),
        told_(std::move(told)) {}

  Result<std::vector<Published>> publish(std::span<const HubEvent> events) override;

 private:
  Result<Rows> insert(Session& session, std::span<const HubEvent* const> events) const;
  Result<Rows> look(Session& session, std::span<const HubEvent* const> events) const;

  const HubPublishStatements* statements_;
  const Clock* clock_;
  std::uint16_t shards_;
  Open open_;
  Told told_;
};

/// What the router needs, in SQL.
class HubEventStore final : public spi::EventStore {
 public:
  HubEventStore(Sections& sections, const HubParts& parts);

  [[nodiscard]] spi::Capabilities capabilities() const override { return parts_.capabilities; }
  Status prepare() override;
  Result<spi::RoutingReply> read(std::span<const spi::FeedRange> ranges, std::size_t bytes_max,
                                 std::uint64_t subscriptions_after) override;
  Result<std::vector<spi::RoutingPosition>> positions(std::span<const Shard> shards) override;
  Result<std::vector<bool>> move(const spi::Fencing& fencing,
                                 std::span<const spi::RoutingPosition> positions) override;
  void wait(Duration timeout) override { parts_.wait(hub_events_feed, timeout); }
  void wake() override { parts_.wake(hub_events_feed); }

 private:
  Result<spi::FeedReply<HubEvent>> read_once(std::span<const spi::FeedRange> ranges,
                                             std::size_t bytes_max);

  const HubParts& parts_;
  const HubFences fences_;
  const Statement made_;
  const Statement shards_;
  const Statement read_;
  const Statement draw_transaction_;
  const Statement changed_;
  const Statement positions_;
  const Statement move_;
};

}  // namespace sagabox::sql
