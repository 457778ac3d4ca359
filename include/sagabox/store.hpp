#pragma once

#include <sagabox/spi/audit_store.hpp>
#include <sagabox/spi/control_store.hpp>
#include <sagabox/spi/delivery_store.hpp>
#include <sagabox/spi/doctor_store.hpp>
#include <sagabox/spi/event_store.hpp>
#include <sagabox/spi/hub_admin_store.hpp>
#include <sagabox/spi/idempotency_store.hpp>
#include <sagabox/spi/job_store.hpp>
#include <sagabox/spi/outbox_admin_store.hpp>
#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/spi/ownership_store.hpp>
#include <sagabox/spi/saga_store.hpp>
#include <sagabox/spi/subscription_store.hpp>
#include <sagabox/spi/transaction.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace sagabox {

/// How the processes that deliver one table divide the work.
enum class ClaimMode : std::uint8_t {
  sharded,    ///< each owns a share of the shards; the fastest mode
  leader,     ///< one owns all of them, the others stand by
  competing,  ///< as sharded, and processes with free capacity claim messages of other shards
};

/// "sharded", "leader", "competing".
std::string_view claim_mode_name(ClaimMode mode) noexcept;
std::optional<ClaimMode> claim_mode_from_name(std::string_view name) noexcept;

/// The roles that relays of one claim mode use.
struct ClaimRoles {
  spi::OutboxStore& outbox;
  spi::OwnershipStore& ownership;
};

/// One role for each table of the delivery hub.
struct HubRoles {
  spi::EventStore& events;
  spi::SubscriptionStore& subscriptions;
  spi::DeliveryStore& deliveries;
  spi::JobStore& jobs;
  spi::HubAdminStore& admin;
};

/// A database that sagabox uses: its roles, and transactions over its own connections.
class Store {
 public:
  virtual ~Store() = default;
  virtual spi::OutboxStore& outbox() = 0;
  virtual spi::OutboxAdminStore& outbox_admin() = 0;
  virtual spi::ControlStore& control() = 0;
  virtual spi::OwnershipStore& ownership() = 0;
  virtual spi::AuditStore& audit() = 0;
  /// Null if the store does not support it.
  virtual spi::DoctorStore* doctor() { return nullptr; }
  /// Null if the store does not support it.
  virtual spi::IdempotencyStore* idempotency() { return nullptr; }
  /// Null if the store does not support it.
  virtual spi::InboxStore* inbox() { return nullptr; }
  /// Null if the store does not support it.
  virtual spi::SagaStore* sagas() { return nullptr; }
  /// Null if the store does not support it.
  virtual spi::SagaAdminStore* saga_admin() { return nullptr; }
  /// nullopt if the store does not support the hub.
  virtual std::optional<HubRoles> hub() { return std::nullopt; }
  /// nullopt if the store does not support this mode. All relays of a table must use the same mode.
  virtual std::optional<ClaimRoles> claim_roles(ClaimMode mode) {
    // Leases also elect one leader: a worker that requests all shards waits until no other has any.
    if (mode == ClaimMode::competing) return std::nullopt;
    return ClaimRoles{outbox(), ownership()};
  }
  virtual Result<std::unique_ptr<OwnedTransaction>> begin() = 0;
  /// A readable name without credentials: "memory:", "postgres://db/orders".
  [[nodiscard]] virtual std::string name() const = 0;

  /// Runs `work(tx)` and commits; rolls back if it returns an error or throws.
  template <class Work>
  auto transaction(Work&& work) -> std::invoke_result_t<Work, OwnedTransaction&> {
    auto tx = begin();
    if (!tx.ok()) return tx.error();
    try {
      auto result = std::forward<Work>(work)(**tx);
      if (!result.ok()) {
        (void)(*tx)->rollback();
        return result;
      }
      if (auto committed = (*tx)->commit(); !committed.ok()) return committed.error();
      return result;
    } catch (...) {
      (void)(*tx)->rollback();
      throw;
    }
  }
};

}  // namespace sagabox
