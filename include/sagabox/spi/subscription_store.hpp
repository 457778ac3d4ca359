#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/hub_record.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::spi {

/// A signing secret as it is stored: sealed, so that read access to the table is not enough to use
/// it.
struct SealedSecret {
  std::uint32_t number = 0;  ///< within its subscription, increasing
  std::string sealed{};
  WallTime created_at{};
  /// Requests are signed with it and its successor until this time. nullopt: it is the present one.
  std::optional<WallTime> expires_at{};
};

/// The limit for each subscription, because each secret adds a signature to every request.
inline constexpr std::size_t live_secrets_max = 5;

struct SubscriptionFilter {
  std::optional<std::string> tenant{};
  std::optional<SubscriptionState> state{};
  std::optional<std::string> name{};
};

struct SubscriptionList {
  SubscriptionFilter filter{};
  SubscriptionId after{};  ///< the last id of the previous page
  std::uint32_t rows_max = 100;
};

/// The database operations for the administration of subscriptions.
class SubscriptionStore {
 public:
  virtual ~SubscriptionStore() = default;

  /// Inserts version 1, or updates the record with the previous version. The store sets `change`,
  /// the times, and `active_since` if the state becomes active, unless a pause ends. Tenant and id
  /// never change. Returns false if another version is stored, or the id exists. `audit` is written
  /// in the same transaction.
  virtual Result<bool> write(const SubscriptionRecord& record,
                             std::span<const AuditEvent> audit) = 0;
  virtual Result<std::optional<SubscriptionRecord>> get(const SubscriptionId& id) = 0;
  /// Ordered by id, ascending.
  virtual Result<std::vector<SubscriptionRecord>> list(const SubscriptionList& request) = 0;
  struct Count {
    std::uint64_t enabled = 0;  ///< not disabled
    std::uint64_t disabled = 0;
  };
  /// How many a tenant has.
  virtual Result<Count> count(std::string_view tenant) = 0;

  /// Adds a secret that signs from now on; earlier ones expire `overlap` from now, if they do not
  /// expire before. Returns its number, from 1. REQUEST.NOT_FOUND: there is no such subscription.
  /// TX.INVALID_STATE: more than `live_secrets_max` secrets would be valid.
  virtual Result<std::uint32_t> add_secret(const SubscriptionId& id, std::string_view sealed,
                                           Duration overlap, std::span<const AuditEvent> audit) = 0;
  struct SecretsOf {
    SubscriptionId subscription;
    std::vector<SealedSecret> secrets;
  };
  /// For each subscription, in order, its secrets that have not expired, newest first.
  virtual Result<std::vector<SecretsOf>> secrets(std::span<const SubscriptionId> ids) = 0;
  struct ResealedSecret {
    SubscriptionId subscription;
    std::uint32_t number = 0;
    std::string before{};  ///< as it is stored
    std::string after{};   ///< as it is to be stored
  };
  /// Stores the same secrets sealed otherwise. Returns how many; those that were changed meanwhile
  /// or are gone are left as they are.
  virtual Result<std::uint64_t> reseal(std::span<const ResealedSecret> secrets) = 0;
};

}  // namespace sagabox::spi
