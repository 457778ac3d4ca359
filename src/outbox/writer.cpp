#include "outbox/writer.hpp"

#include "core/error_text.hpp"
#include "observe/metric_names.hpp"

#include <exception>
#include <utility>

namespace sagabox::outbox {
namespace {

/// Runs `call` on every hook; what one throws is logged.
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

/// Waits for the verdict on one batch.
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

Result<std::vector<Written>> Writer::write_all(Transaction& tx, std::vector<NewMessage> drafts) {
  if (!tx.is_open()) {
    return Error{Code::tx_no_transaction,
                 "write() needs an open transaction on this connection; call BEGIN first"};
  }
  const auto wanted = drafts.size();
  if (auto hooked = run_before_hooks(drafts); !hooked.ok()) return hooked.error();
  if (drafts.size() < wanted) {
    options_.metrics->counter(metric::outbox_suppressed_total, {{"table", table_.str()}})
        .add(static_cast<double>(wanted - drafts.size()));
  }
  if (drafts.empty()) return std::vector<Written>{};
  auto messages = build(std::move(drafts));
  if (!messages.ok()) return messages.error();
  auto written = tx.insert(table_, *messages);
  if (!written.ok()) return written.error();
  count(*written, *messages);
  watch(tx, *written, *messages);
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

Result<Writer::Messages> Writer::build(std::vector<NewMessage> drafts) {
  Messages messages;
  messages.reserve(drafts.size());
  for (auto& draft : drafts) {
    auto message = Message::build(std::move(draft), options_.rules, ids_, *options_.clock);
    if (!message.ok()) return message.error();
    messages.push_back(std::make_shared<const Message>(std::move(message).value()));
  }
  return messages;
}

void Writer::watch(Transaction& tx, const std::vector<Written>& written, const Messages& messages) {
  if (relay_ == nullptr && options_.hooks.empty()) return;
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

void Writer::count(const std::vector<Written>& written, const Messages& messages) {
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
