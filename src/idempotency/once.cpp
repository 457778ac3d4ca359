#include "observe/metric_names.hpp"

#include <sagabox/once.hpp>

#include <utility>

namespace sagabox {
namespace {

/// The message is tried again without having spent an attempt where the database is to blame.
Outcome not_handled(const Error& error) {
  if (error.code == Code::schema_validation_failed) {
    return {.kind = Outcome::Kind::reject, .code = error.code, .error = error.message};
  }
  const bool blameless = error.code == Code::storage_unavailable ||
                         error.code == Code::storage_conflict ||
                         error.code == Code::storage_in_doubt;
  return {.kind = Outcome::Kind::retry,
          .spends_attempt = !blameless,
          .code = error.code,
          .error = error.message};
}

class OnceListener {
 public:
  OnceListener(Store& store, const OnceOptions& options, TransactionHandler handler)
      : store_(&store),
        consumer_(options.consumer),
        hits_(&options.metrics->counter(metric::idempotency_hits_total,
                                        {{"consumer", options.consumer}})),
        handler_(std::move(handler)) {}

  Outcome operator()(const Delivery& delivery) const {
    // Rolled back when it is dropped: also when the handler throws.
    auto begun = store_->begin();
    if (!begun.ok()) return not_handled(begun.error());
    auto& transaction = **begun;
    const auto first = transaction.inbox().first_time(
        delivery.tenant(), consumer_, delivery.tenant() + ":" + delivery.id().str());
    if (!first.ok()) return not_handled(first.error());
    if (!*first) {
      hits_->increment();
      return done();
    }
    auto outcome = handler_(delivery, transaction);
    if (outcome.kind != Outcome::Kind::done) return outcome;
    // In doubt, too, it is tried again: the key tells whether it was committed.
    if (auto committed = transaction.commit(); !committed.ok()) {
      return not_handled(committed.error());
    }
    return outcome;
  }

 private:
  Store* store_;
  std::string consumer_;
  Counter* hits_;
  TransactionHandler handler_;
};

}  // namespace

Listener once(Store& store, OnceOptions options, TransactionHandler handler) {
  const IdempotencyKey named{.consumer = options.consumer, .key = "k"};
  if (auto valid = named.check(); !valid.ok()) {
    throw Failure({Code::config_invalid, "once(): " + valid.error().message});
  }
  if (store.inbox() == nullptr) {
    throw Failure({Code::config_invalid, "once(): the store " + store.name() + " has no inbox"});
  }
  return OnceListener(store, options, std::move(handler));
}

}  // namespace sagabox
