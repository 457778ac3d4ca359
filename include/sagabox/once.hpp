#pragma once

#include <sagabox/delivery.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/store.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace sagabox {

/// Handles a message in a transaction, which is committed if the handler returns `done()`, and
/// rolled back otherwise, also if it throws. The handler must neither commit nor roll back itself.
using TransactionHandler = std::function<Outcome(const Delivery&, OwnedTransaction&)>;

struct OnceOptions {
  /// The name of the handler. Two handlers of one message need different names.
  std::string consumer{};
  Metrics* metrics = &no_metrics();
};

/// Returns a listener whose effect on the database of `store` happens once for each message,
/// however often the message is delivered or replayed: the handler's transaction inserts
/// `inbox_key` into the inbox. A message that was handled before is done without a call of the
/// handler. Messages that are replayed as new are handled again.
///
/// Effects outside this database happen at least once. The inbox's tables must exist: call
/// `store.inbox()->prepare()`, or `sagabox migrate up`. The store outlives the listener. Throws
/// Failure with CONFIG.INVALID for an invalid consumer name and for a store without an inbox.
Listener once(Store& store, OnceOptions options, TransactionHandler handler);

/// The key of a message in an inbox: `tenant:message id`, or, if it was replayed as new,
/// `tenant:message id:number of that replay`.
std::string inbox_key(const Message& message);

/// A handler that declares the store it works on. Its registration (`Outbox::listen`,
/// `Functions::add`, `Bus::subscribe`) wraps it with `once`, unless `once` is false, and creates
/// the inbox's tables if they do not exist.
struct StoreListener {
  Store& store;  ///< outlives the listener
  TransactionHandler handle{};
  /// False: the handler runs at every delivery, also of messages that it has handled before.
  bool once = true;
  /// The name of the handler. Use the same name in every process and version: under a new name, all
  /// messages count as not handled. Empty: a name that the registration chooses and documents.
  std::string consumer{};
  /// `idempotency_…` of this handler; `no_metrics()`: those of the outbox, functions or bus.
  Metrics* metrics = &no_metrics();
};

/// The listener to register under `name`. TX.INVALID_HANDLER without a function; CONFIG.INVALID for
/// an invalid consumer name and, unless `once` is false, for a store without an inbox; or the error
/// of creating the inbox's tables.
Result<Listener> listener_of(StoreListener handler, std::string_view name);

}  // namespace sagabox
