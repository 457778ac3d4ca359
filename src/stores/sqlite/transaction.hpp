#pragma once

#include "stores/sqlite/context.hpp"

#include <sagabox/spi/transaction.hpp>

#include <map>
#include <memory>
#include <span>
#include <vector>

namespace sagabox::sqlite {

/// A transaction of our own, on the connection that writes.
class StoreTransaction final : public OwnedTransaction {
 public:
  static Result<std::unique_ptr<OwnedTransaction>> begin(Context& context);
  /// Rolls back what is open.
  ~StoreTransaction() override;

  [[nodiscard]] bool is_open() const override { return transaction_.is_open(); }
  Result<std::vector<Written>> insert(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) override;
  Status commit() override;
  Status rollback() override;

  [[nodiscard]] sqlite3* handle() const noexcept {
    return is_open() ? transaction_.connection().handle() : nullptr;
  }

 private:
  StoreTransaction(Context& context, WriteTransaction transaction)
      : context_(context), transaction_(std::move(transaction)) {}

  Context& context_;
  WriteTransaction transaction_;
  std::map<TableName, Sequence> last_;  // written to each outbox
};

}  // namespace sagabox::sqlite
