#pragma once

#include <sagabox/delivery.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/store.hpp>

#include <functional>
#include <string>

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
/// that is delivered or replayed: the key `tenant:message id` is taken in the inbox in the
/// handler's transaction. A message that was handled before is done, and the handler is not called.
///
/// What the handler does elsewhere happens at least once. The inbox's tables must be there:
/// `store.inbox()->prepare()`, or `sagabox migrate up`. The store outlives the listener. Throws
/// Failure with CONFIG.INVALID for a consumer's name that cannot be stored and for a store without
/// an inbox.
Listener once(Store& store, OnceOptions options, TransactionHandler handler);

}  // namespace sagabox
