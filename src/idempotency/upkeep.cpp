#include "idempotency/request_purge.hpp"
#include "runtime/periodic_threads.hpp"

#include <utility>

namespace sagabox {

struct IdempotencyUpkeep::Parts {
  Parts(Store& store, const IdempotencyUpkeepOptions& options)
      : purge(store, options), threads(*options.clock) {
    threads.add(purge);
  }

  idempotency::RequestPurge purge;
  runtime::PeriodicThreads threads;  // last: it uses the rest
};

IdempotencyUpkeep::IdempotencyUpkeep(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
IdempotencyUpkeep::~IdempotencyUpkeep() = default;

Result<std::unique_ptr<IdempotencyUpkeep>> IdempotencyUpkeep::start(
    Store& store, IdempotencyUpkeepOptions options) {
  const auto invalid = [](std::string_view option) {
    return Error{Code::config_invalid, "idempotency: " + std::string(option) + " must be above 0"};
  };
  if (options.inbox_window <= Duration{}) return invalid("inbox_window");
  if (options.interval <= Duration{}) return invalid("interval");
  if (options.rows_max == 0) return invalid("rows_max");
  return std::unique_ptr<IdempotencyUpkeep>(
      new IdempotencyUpkeep(std::make_unique<Parts>(store, options)));
}

}  // namespace sagabox
