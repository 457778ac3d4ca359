#pragma once

#include "stores/sql/session.hpp"

#include <sagabox/spi/saga_inbox.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::sql {

/// Run on connections of callers, too: they qualify what they use.
struct SagaInboxStatements {
  explicit SagaInboxStatements(Sections& sections);

  Statement append;
};

/// What waits and wakes go by: no outbox has such a name.
inline std::string saga_feed(std::string_view definition) {
  return "saga:" + std::string(definition);
}

/// The saga inbox of a transaction. `session` gives one in it, or TX.NO_TRANSACTION.
class TransactionSagas final : public SagaInbox {
 public:
  using Open = std::function<Result<std::unique_ptr<Session>>()>;
  using Appended = std::function<void(const std::string& definition)>;
  /// `clock`: of a database that has none itself; null: its SQL knows the time.
  /// `appended`: to commands of this definition.
  TransactionSagas(const SagaInboxStatements& statements, const Clock* clock, Open open,
                   Appended appended = {})
      : statements_(&statements),
        clock_(clock),
        open_(std::move(open)),
        appended_(std::move(appended)) {}

  Status append(std::span<const SagaCommand> commands) override;

 private:
  const SagaInboxStatements* statements_;
  const Clock* clock_;
  Open open_;
  Appended appended_;
};

}  // namespace sagabox::sql
