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

/// A signing secret as it is stored: sealed, so that who reads the table cannot use it.
struct SealedSecret {
  std::uint32_t number = 0;  ///< of its subscription, rising
  std::string sealed{};
  WallTime created_at{};
  /// Requests are signed with it until then, beside its successor. Null: it is the present one.
  std::optional<WallTime> expires_at{};
};

/// Of one subscription at a time: each makes another signature of every request.
inline constexpr std::size_t live_secrets_max = 5;

struct SubscriptionFilter {
  std::optional<std::string> tenant{};
  std::optional<SubscriptionState> state{};
  std::optional<std::string> name{};
};

struct SubscriptionList {
  SubscriptionFilter filter{};
  SubscriptionId after{};  ///< the last id of the page before
  std::uint32_t rows_max = 100;
};

/// What those who administer subscriptions need of a database.
class SubscriptionStore {
 public:
  virtual ~SubscriptionStore() = default;

  /// Inserts version 1, or changes what has the version before; the store draws `change`, the
  /// times, and `active_since` when the state becomes active, other than by the end of a pause.
  /// Tenant and id never change. False: another version is stored, or the id is taken. `audit` is
  /// written in the same transaction.
  virtual Result<bool> write(const SubscriptionRecord& record,
                             std::span<const AuditEvent> audit) = 0;
  virtual Result<std::optional<SubscriptionRecord>> get(const SubscriptionId& id) = 0;
  /// By id, ascending.
  virtual Result<std::vector<SubscriptionRecord>> list(const SubscriptionList& request) = 0;
  struct Count {
    std::uint64_t enabled = 0;  ///< not disabled
    std::uint64_t disabled = 0;
  };
  /// How many a tenant has.
  virtual Result<Count> count(std::string_view tenant) = 0;

  /// A new secret signs from now on, the ones before end at `overlap` from now if they do not end
  /// before. Returns its number, from 1. REQUEST.NOT_FOUND: there is no such subscription.
  /// TX.INVALID_STATE: more than `live_secrets_max` would sign at once.
  virtual Result<std::uint32_t> add_secret(const SubscriptionId& id, std::string_view sealed,
                                           Duration overlap, std::span<const AuditEvent> audit) = 0;
  struct SecretsOf {
    SubscriptionId subscription;
    std::vector<SealedSecret> secrets;
  };
  /// One a subscription, in their order: its secrets that have not expired, the newest first.
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
