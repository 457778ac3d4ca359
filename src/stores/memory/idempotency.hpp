#pragma once

#include <sagabox/spi/idempotency_store.hpp>

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace sagabox::memory {

class Database;

using IdempotencyRecords = std::map<IdempotencyKey, IdempotencyRecord>;

/// The role of a database that stores records of requests.
class Idempotency final : public spi::IdempotencyStore {
 public:
  explicit Idempotency(Database& database) : database_(database) {}

  Status prepare() override { return {}; }
  Result<bool> is_made() override { return true; }
  Result<std::vector<spi::IdempotencyCheckReply>> check(
      std::span<const spi::IdempotencyCheck> checks) override;
  Result<std::vector<bool>> finish(std::span<const spi::IdempotencyFinish> finished) override;
  Result<std::vector<bool>> fail(std::span<const spi::IdempotencyFail> failed) override;
  Result<std::vector<bool>> renew(std::span<const spi::IdempotencyRenew> renewals) override;
  Result<std::uint64_t> purge(const spi::IdempotencyPurge& request) override;
  Result<std::vector<IdempotencyRecord>> list(const spi::IdempotencyListRequest& request) override;
  Result<std::optional<IdempotencyRecord>> get(const IdempotencyKey& key) override;

 private:
  /// Applies the changes whose ticket still holds its record; false for the others.
  template <class Change>
  std::vector<bool> apply_all(std::span<const Change> changes);
  std::uint64_t remove_expired(std::uint32_t rows_max);

  Database& database_;
};

}  // namespace sagabox::memory
