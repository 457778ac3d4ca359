#pragma once

#include "outbox/relay.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/spi/transaction.hpp>

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sagabox::outbox {

/// Writes messages into open transactions and hands them to the hot path once they have
/// committed. Thread-safe.
class Writer {
 public:
  /// `relay`: null if this process does not deliver.
  Writer(const TableName& table, const OutboxOptions& options, UlidSource& ids, Relay* relay)
      : table_(table), options_(options), ids_(ids), relay_(relay) {}

  /// Open transactions keep `owner` alive, because they use it when they end.
  void belongs_to(std::weak_ptr<void> owner) { owner_ = std::move(owner); }

  /// nullopt if a hook suppressed the write.
  Result<std::optional<Written>> write(Transaction& tx, NewMessage&& draft);
  Result<std::vector<Written>> write_all(Transaction& tx, std::vector<NewMessage> drafts);

 private:
  using Messages = std::span<const std::shared_ptr<const Message>>;

  [[nodiscard]] Result<std::vector<Written>> insert(Transaction& tx, Messages messages);
  [[nodiscard]] Status fits_schema(const Message& message) const;
  [[nodiscard]] Status run_before_hooks(std::vector<NewMessage>& drafts) const;
  /// Whether transactions are observed until they end.
  [[nodiscard]] bool observes() const { return relay_ != nullptr || !options_.hooks.empty(); }
  void watch(Transaction& tx, const std::vector<Written>& written, Messages messages);
  void count(const std::vector<Written>& written, Messages messages);

  const TableName& table_;
  const OutboxOptions& options_;
  UlidSource& ids_;
  Relay* relay_;
  std::weak_ptr<void> owner_;
};

}  // namespace sagabox::outbox
