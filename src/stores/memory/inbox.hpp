#pragma once

#include "spi/barrier_rules.hpp"

#include <sagabox/spi/inbox.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sagabox::memory {

class Database;
struct OpenTransaction;

struct BarrierKey {
  std::string tenant;
  std::string saga;
  std::string step;
  std::uint32_t round = 0;
  friend auto operator<=>(const BarrierKey&, const BarrierKey&) = default;
};

struct BarrierRow {
  spi::BarrierState state = spi::BarrierState::acted;
  WallTime keep_until{};
};

/// The inbox records of one transaction, or of all that have committed.
struct InboxRows {
  std::map<IdempotencyKey, WallTime> keys;
  std::map<BarrierKey, BarrierRow> barriers;

  /// Records of `other` replace existing ones.
  void add(InboxRows other);
};

/// The inbox of one database.
class MemoryInbox final : public spi::InboxStore {
 public:
  explicit MemoryInbox(Database& database) : database_(database) {}

  Status prepare() override;
  Result<bool> is_made() override { return true; }
  Result<std::vector<bool>> taken(std::span<const IdempotencyKey> keys) override;
  Result<spi::InboxPurgeReply> purge(const spi::InboxPurge& request) override;

  Result<bool> first_time(OpenTransaction& transaction, const IdempotencyKey& key);
  Result<BarrierAnswer> barrier(OpenTransaction& transaction, const BarrierCall& call);

 private:
  Database& database_;
};

}  // namespace sagabox::memory
