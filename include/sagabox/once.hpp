#pragma once

#include <sagabox/delivery.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/store.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace sagabox {

/// Handles a message in a transaction, which is committed when it returns `done()` and rolled back
/// otherwise, also when it throws. It neither commits nor rolls back itself.
using TransactionHandler = std::function<Outcome(const Delivery&, OwnedTransaction&)>;

struct OnceOptions {
  /// The handler's own name: two handlers of one message have different ones.
  std::string consumer{};
  Metrics* metrics = &no_metrics();
};

/// A listener whose effect on the database of `store` happens once for each message, however often
/// that is delivered or replayed: `inbox_key` is taken in the inbox in the handler's transaction.
/// A message that was handled before is done, and the handler is not called. Messages that are
/// replayed as new are handled again.
///
/// What the handler does elsewhere happens at least once. The inbox's tables must be there:
/// `store.inbox()->prepare()`, or `sagabox migrate up`. The store outlives the listener. Throws
/// Failure with CONFIG.INVALID for a consumer's name that cannot be stored and for a store without
/// an inbox.
Listener once(Store& store, OnceOptions options, TransactionHandler handler);

/// What names a message in an inbox: `tenant:message id`, and of one that was replayed as new
/// `tenant:message id:number of that replay`.
std::string inbox_key(const Message& message);

/// A handler that declares the store it works on. Where it is registered (`Outbox::listen`,
/// `Functions::add`, `Bus::subscribe`) it becomes a listener as `once` makes one, unless told
/// otherwise, and the inbox's tables are made if they are not there.
struct StoreListener {
  Store& store;  ///< outlives the listener
  TransactionHandler handle{};
  /// False: the handler runs at every delivery, also of a message that it has handled.
  bool once = true;
  /// The handler's own name, and the same in every process and version: with another one it has
  /// handled nothing yet. Empty: the name of its registration, which is said there.
  std::string consumer{};
  /// `idempotency_…` of this handler; `no_metrics()`: those of the outbox, functions or bus.
  Metrics* metrics = &no_metrics();
};

/// What `name` registers. TX.INVALID_HANDLER without a function; CONFIG.INVALID for a consumer's
/// name that cannot be stored and, unless `once` is false, for a store without an inbox; or why the
/// inbox's tables could not be made.
Result<Listener> listener_of(StoreListener handler, std::string_view name);

}  // namespace sagabox
