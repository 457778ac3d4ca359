#include "observe/metric_names.hpp"

#include <sagabox/once.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace sagabox {
namespace {

/// The outcome of an error. If only the database failed, the message is retried without spending an
/// attempt.
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

/// Runs the handler in a transaction of its own.
class InTransaction {
 public:
  InTransaction(Store& store, TransactionHandler handler)
      : store_(&store), handler_(std::move(handler)) {}

  Outcome operator()(const Delivery& delivery) const {
    return run([&](OwnedTransaction& transaction) { return handler_(delivery, transaction); });
  }

 protected:
  /// Commits if `work` returns done. Rolls back otherwise, also if it throws.
  template <class Work>
  Outcome run(const Work& work) const {
    auto begun = store_->begin();
    if (!begun.ok()) return not_handled(begun.error());
    auto& transaction = **begun;
    auto outcome = work(transaction);
    if (outcome.kind != Outcome::Kind::done) return outcome;
    // Retry also if the commit is in doubt: the key shows whether it was committed.
    if (auto committed = transaction.commit(); !committed.ok()) {
      return not_handled(committed.error());
    }
    return outcome;
  }
  [[nodiscard]] const TransactionHandler& handler() const noexcept { return handler_; }

 private:
  Store* store_;
  TransactionHandler handler_;
};

class OnceListener : InTransaction {
 public:
  OnceListener(Store& store, const OnceOptions& options, TransactionHandler handler)
      : InTransaction(store, std::move(handler)),
        consumer_(options.consumer),
        hits_(&options.metrics->counter(metric::idempotency_hits_total,
                                        {{"consumer", options.consumer}})),
        succeeded_(&runs(options, "succeeded")),
        released_(&runs(options, "released")) {}

  Outcome operator()(const Delivery& delivery) const {
    bool first = true;
    auto outcome = run([&](OwnedTransaction& transaction) {
      auto taken = transaction.inbox().first_time(delivery.tenant(), consumer_,
                                                  inbox_key(delivery.message()));
      if (!taken.ok()) return not_handled(taken.error());
      first = *taken;
      return first ? handled(delivery, transaction) : done();
    });
    if (outcome.kind == Outcome::Kind::done) (first ? succeeded_ : hits_)->increment();
    return outcome;
  }

 private:
  static Counter& runs(const OnceOptions& options, std::string_view result) {
    return options.metrics->counter(metric::idempotency_runs_total,
                                    {{"consumer", options.consumer}, {"result", result}});
  }
  /// Unless the outcome is done, the rollback frees the key.
  Outcome handled(const Delivery& delivery, OwnedTransaction& transaction) const {
    try {
      auto outcome = handler()(delivery, transaction);
      if (outcome.kind != Outcome::Kind::done) released_->increment();
      return outcome;
    } catch (...) {
      released_->increment();
      throw;
    }
  }

  std::string consumer_;
  Counter* hits_;
  Counter* succeeded_;
  Counter* released_;
};

Error unusable(std::string_view name, const std::string& why) {
  return {Code::config_invalid, std::string(name) + ": " + why};
}

/// Empty if the consumer's name is valid and the store has an inbox.
std::string once_problem(Store& store, const std::string& consumer) {
  const IdempotencyKey named{.consumer = consumer, .key = "k"};
  if (auto valid = named.check(); !valid.ok()) return valid.error().message;
  if (store.inbox() == nullptr) return "the store " + store.name() + " has no inbox";
  return {};
}

/// Creates the tables. Succeeds also if the database user may not create tables but they exist.
Status prepare_inbox(spi::InboxStore& inbox) {
  auto made = inbox.prepare();
  if (made.ok()) return made;
  const IdempotencyKey any{.consumer = "any", .key = "any"};
  return inbox.taken(std::span(&any, 1)).ok() ? Status() : made;
}

}  // namespace

std::string inbox_key(const Message& message) {
  auto key = message.tenant() + ":" + message.id().str();
  const auto as_new =
      std::ranges::find(message.headers(), as_new_header, &Headers::value_type::first);
  if (as_new != message.headers().end()) key += ":" + as_new->second;
  return key;
}

Listener once(Store& store, OnceOptions options, TransactionHandler handler) {
  if (const auto problem = once_problem(store, options.consumer); !problem.empty()) {
    throw Failure(unusable("once()", problem));
  }
  return OnceListener(store, options, std::move(handler));
}

Result<Listener> listener_of(StoreListener handler, std::string_view name) {
  if (!handler.handle) {
    return Error{Code::tx_invalid_handler, std::string(name) + ": `handle` is empty; give one"};
  }
  if (!handler.once) {
    return Listener(InTransaction(handler.store, std::move(handler.handle)));
  }
  if (handler.consumer.empty()) handler.consumer = name;
  if (const auto problem = once_problem(handler.store, handler.consumer); !problem.empty()) {
    return unusable(name,
                    problem + "; give it a `consumer`, a store with an inbox, or once = false");
  }
  if (auto made = prepare_inbox(*handler.store.inbox()); !made.ok()) return made.error();
  return once(handler.store, {.consumer = std::move(handler.consumer), .metrics = handler.metrics},
              std::move(handler.handle));
}

}  // namespace sagabox
