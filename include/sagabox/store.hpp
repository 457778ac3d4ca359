#pragma once

#include <sagabox/spi/audit_store.hpp>
#include <sagabox/spi/control_store.hpp>
#include <sagabox/spi/outbox_admin_store.hpp>
#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/spi/ownership_store.hpp>
#include <sagabox/spi/transaction.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>

namespace sagabox {

/// A database that sagabox works on: its roles, and transactions of our own.
class Store {
 public:
  virtual ~Store() = default;
  virtual spi::OutboxStore& outbox() = 0;
  virtual spi::OutboxAdminStore& outbox_admin() = 0;
  virtual spi::ControlStore& control() = 0;
  virtual spi::OwnershipStore& ownership() = 0;
  virtual spi::AuditStore& audit() = 0;
  virtual Result<std::unique_ptr<OwnedTransaction>> begin() = 0;
  /// As a person would write it, without credentials: "memory:", "postgres://db/orders".
  [[nodiscard]] virtual std::string name() const = 0;

  /// Runs `work(tx)` and commits; rolls back when it returns an error or throws.
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
