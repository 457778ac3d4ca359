#include "outbox/writer.hpp"

#include "core/error_text.hpp"
#include "observe/metric_names.hpp"

#include <exception>
#include <utility>

namespace sagabox::outbox {
namespace {

/// Runs `call` on every hook; exceptions are logged.
template <class Call>
void run_hooks(const OutboxOptions& options, std::string_view when, Call&& call) noexcept {
  for (const auto& hook : options.hooks) {
    try {
      call(*hook);
    } catch (const std::exception& thrown) {
      const auto error = clean_error(thrown.what(), options.error_bytes_max);
      options.log->log(LogLevel::error, "writer hook failed",
                       {{"table", std::string_view(options.table)},
                        {"when", when},
                        {"error", std::string_view(error)}});
    } catch (...) {
      options.log->log(LogLevel::error, "writer hook failed",
                       {{"table", std::string_view(options.table)}, {"when", when}});
    }
  }
}

Error no_transaction() {
  return {Code::tx_no_transaction,
          "write() needs an open transaction on this connection; call BEGIN first"};
}

/// Handles the end of the transaction for one batch.
class BatchObserver final : public TransactionObserver {
 public:
  BatchObserver(std::shared_ptr<void> owner, const OutboxOptions& options, Relay* relay,
                std::vector<Written> written, std::vector<Reservation> reservations)
      : owner_(std::move(owner)),
        options_(options),
        relay_(relay),
        written_(std::move(written)),
        reservations_(std::move(reservations)) {}

  void committed() noexcept override {
    if (relay_ != nullptr) {
      const bool all_hot = reservations_.size() == written_.size();
      for (auto& reservation : reservations_) {
        relay_->dispatcher().committed(std::move(reservation));
      }
      if (!all_hot) relay_->wake();
    }
    run_hooks(options_, "after commit", [&](WriterHook& hook) { hook.after_commit(written_); });
  }

  void rolled_back() noexcept override {
    cancel();
    run_hooks(options_, "after rollback", [&](WriterHook& hook) { hook.after_rollback(written_); });
  }

  void abandoned() noexcept override { cancel(); }

 private:
  void cancel() noexcept {
    for (const auto& reservation : reservations_) relay_->dispatcher().cancelled(reservation);
  }

  std::shared_ptr<void> owner_;
  const OutboxOptions& options_;
  Relay* relay_;
  std::vector<Written> written_;
  std::vector<Reservation> reservations_;
};

}  // namespace

Result<std::optional<Written>> Writer::write(Transaction& tx, NewMessage&& draft) {
  if (!options_.hooks.empty()) {
    std::vector<NewMessage> one;
    one.push_back(std::move(draft));
    auto written = write_all(tx, std::move(one));
    if (!written.ok()) return written.error();
    if (written->empty()) return std::optional<Written>();
    return std::optional(written->front());
  }
  if (!tx.is_open()) return no_transaction();
  const auto message =
      Message::build_shared(std::move(draft), options_.rules, ids_, *options_.clock);
  if (!message.ok()) return message.error();
  auto written = insert(tx, std::span(&*message, 1));
  if (!written.ok()) return written.error();
  return std::optional(written->front());
}

Result<std::vector<Written>> Writer::write_all(Transaction& tx, std::vector<NewMessage> drafts) {
  if (!tx.is_open()) return no_transaction();
  const auto wanted = drafts.size();
  if (auto hooked = run_before_hooks(drafts); !hooked.ok()) return hooked.error();
  if (drafts.size() < wanted) {
    options_.metrics->counter(metric::outbox_suppressed_total, {{"table", table_.str()}})
        .add(static_cast<double>(wanted - drafts.size()));
  }
  if (drafts.empty()) return std::vector<Written>{};
  std::vector<std::shared_ptr<const Message>> messages;
  messages.reserve(drafts.size());
  for (auto& draft : drafts) {
    auto message = Message::build_shared(std::move(draft), options_.rules, ids_, *options_.clock);
    if (!message.ok()) return message.error();
    messages.push_back(std::move(*message));
  }
  return insert(tx, messages);
}

Status Writer::fits_schema(const Message& message) const {
  const auto schema = options_.schemas.find(message.topic());
  if (schema == options_.schemas.end()) return {};
  if (message.payload().form() != PayloadForm::json) {
    return Error{Code::schema_validation_failed,
                 "payload of topic \"" + message.topic() + "\" must be JSON: it has a schema"};
  }
  const auto problem = schema->second.problem(message.payload().view());
  if (problem.empty()) return {};
  return Error{Code::schema_validation_failed,
               "payload of topic \"" + message.topic() + "\" " + problem};
}

Result<std::vector<Written>> Writer::insert(Transaction& tx, Messages messages) {
  if (!options_.schemas.empty()) {
    for (const auto& message : messages) {
      if (auto fits = fits_schema(*message); !fits.ok()) return fits.error();
    }
  }
  auto written = observes() || options_.sequences ? tx.outbox().insert(table_, messages)
                                                  : tx.outbox().insert_blind(table_, messages);
  if (!written.ok()) return written;
  count(*written, messages);
  watch(tx, *written, messages);
  run_hooks(options_, "after write", [&](WriterHook& hook) { hook.after_write(*written); });
  return written;
}

Status Writer::run_before_hooks(std::vector<NewMessage>& drafts) const {
  for (const auto& hook : options_.hooks) {
    const auto failed = [&](std::string_view why) {
      return Error{Code::tx_handler_failed, "a before_write hook failed, nothing was written: " +
                                                clean_error(why, options_.error_bytes_max)};
    };
    try {
      hook->before_write(drafts);
    } catch (const std::exception& thrown) {
      return failed(thrown.what());
    } catch (...) {
      return failed("it threw something that is not a std::exception");
    }
    if (drafts.empty()) break;
  }
  return {};
}

void Writer::watch(Transaction& tx, const std::vector<Written>& written, Messages messages) {
  if (!observes()) return;
  std::vector<Reservation> reservations;
  if (relay_ != nullptr) {
    for (std::size_t at = 0; at < written.size(); ++at) {
      auto reservation = relay_->dispatcher().reserve(written[at], messages[at]);
      if (reservation) reservations.push_back(std::move(*reservation));
    }
  }
  tx.observe(std::make_unique<BatchObserver>(owner_.lock(), options_, relay_, written,
                                             std::move(reservations)));
}

void Writer::count(const std::vector<Written>& written, Messages messages) {
  for (std::size_t at = 0; at < written.size(); ++at) {
    const auto& message = *messages[at];
    if (written[at].duplicate) {
      options_.metrics->counter(metric::outbox_duplicates_total, {{"table", table_.str()}})
          .increment();
      continue;
    }
    options_.metrics
        ->counter(metric::outbox_enqueued_total,
                  {{"table", table_.str()}, {"topic", message.topic()}})
        .increment();
    if (!options_.audit->wants(AuditKind::tx_outbox_enqueued)) continue;
    options_.audit->record({.kind = AuditKind::tx_outbox_enqueued,
                            .at = options_.clock->wall_now(),
                            .table = table_.str(),
                            .tenant = message.tenant(),
                            .topic = message.topic(),
                            .message_id = message.id().str(),
                            .digest = message.digest(),
                            .traceparent = message.trace().traceparent});
  }
}

}  // namespace sagabox::outbox
