#pragma once

#include "runtime/periodic_work.hpp"

#include <sagabox/idempotency_upkeep.hpp>

#include <string_view>

namespace sagabox::idempotency {

/// Round by round removes keys, notes and records whose time is over, a batch of each in a step. No
/// error of the store ends it.
class RequestPurge final : public runtime::PeriodicWork {
 public:
  /// The store outlives it.
  RequestPurge(Store& store, const IdempotencyUpkeepOptions& options);

  bool step() override;
  [[nodiscard]] BootTime next(BootTime now) const override;

 private:
  /// True if a batch was full: there may be more.
  bool purge_inbox();
  bool purge_requests();
  /// Looks until the tables are there.
  template <class Role>
  bool is_made(Role* role, bool& known);
  bool removed(std::string_view kind, std::uint64_t rows);
  void failed(std::string_view what, const Error& error);

  Store& store_;
  const IdempotencyUpkeepOptions options_;
  BootTime due_ = BootTime::min();
  bool inbox_made_ = false;
  bool requests_made_ = false;
};

}  // namespace sagabox::idempotency
