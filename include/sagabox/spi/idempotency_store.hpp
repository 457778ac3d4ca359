#pragma once

#include <sagabox/idempotency_record.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::spi {

/// Asks to be let through.
struct IdempotencyCheck {
  IdempotencyKey key;
  Digest request_hash{};
  /// Drawn by the caller. A check whose answer was lost is repeated with the same one.
  IdempotencyTicket ticket{};
  Duration lease{};  ///< how long nobody else is let through without a renewal
  Duration ttl{};    ///< how long the record is kept, from now on
};

struct IdempotencyCheckReply {
  /// The caller is let through: `record` is its own. False: `record` is what stands in the way.
  bool taken = false;
  IdempotencyRecord record{};
};

struct IdempotencyFinish {
  IdempotencyKey key;
  IdempotencyTicket ticket{};
  std::optional<std::string> result{};  ///< nullopt: too large to be kept
  Digest result_digest{};
};

struct IdempotencyFail {
  IdempotencyKey key;
  IdempotencyTicket ticket{};
  bool final = false;  ///< false: the key is released
  Code code = Code::unknown_internal;
  std::string error{};
};

struct IdempotencyRenew {
  IdempotencyKey key;
  IdempotencyTicket ticket{};
  Duration lease{};
};

struct IdempotencyPurge {
  /// This record, whatever its state; a holder that still works on it can no longer finish.
  /// nullopt: records that have expired, the oldest first.
  std::optional<IdempotencyKey> key{};
  std::uint32_t rows_max = 1000;
  /// Given: the act is in the audit log, in the same transaction.
  std::string actor{};
  std::string note{};
};

struct IdempotencyListRequest {
  std::optional<std::string> tenant{};
  std::optional<std::string> consumer{};
  std::optional<IdempotencyState> state{};
  IdempotencyKey after{.tenant = {}};  ///< the last key of the page before
  std::uint32_t rows_max = 100;
};

/// Which requests are under way or done. Each call takes many, is one transaction and one round
/// trip, except for `purge` of a key with an actor, and for `check`, which looks at what it did not
/// let through in another one; its answers are in the order of what was asked.
/// Times are the database's. Every call may be repeated with the same arguments when its answer
/// was lost. Calls block; safe from any thread.
class IdempotencyStore {
 public:
  virtual ~IdempotencyStore() = default;
  /// Makes the tables, or brings them up to date.
  virtual Status prepare() = 0;
  /// Whether there are tables.
  virtual Result<bool> is_made() = 0;
  /// Lets the request through if the key is unknown, released or expired, or if it is in flight
  /// with the same hash and its lease has run out. The database's unique key decides: of many at
  /// once, one is let through.
  virtual Result<std::vector<IdempotencyCheckReply>> check(
      std::span<const IdempotencyCheck> checks) = 0;
  /// False: the ticket is no longer that of the holder, and nothing was changed. True also when it
  /// was finished by this ticket before. A lease that ran out does not matter until somebody else
  /// was let through.
  virtual Result<std::vector<bool>> finish(std::span<const IdempotencyFinish> finished) = 0;
  virtual Result<std::vector<bool>> fail(std::span<const IdempotencyFail> failed) = 0;
  virtual Result<std::vector<bool>> renew(std::span<const IdempotencyRenew> renewals) = 0;
  /// How many were removed. What is in flight and leased does not expire.
  virtual Result<std::uint64_t> purge(const IdempotencyPurge& request) = 0;
  /// By tenant, consumer and key, compared byte by byte. Expired records are among them.
  virtual Result<std::vector<IdempotencyRecord>> list(const IdempotencyListRequest& request) = 0;
  virtual Result<std::optional<IdempotencyRecord>> get(const IdempotencyKey& key) = 0;
};

}  // namespace sagabox::spi
