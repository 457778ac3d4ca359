#include "stores/postgres/driver/transaction.hpp"

#include <string>
#include <utility>

namespace sagabox::postgres {
namespace {

Error ended(std::string_view call) {
  return {Code::tx_no_transaction,
          std::string(call) + " needs an open transaction, and this one has ended; begin another"};
}

}  // namespace

Result<std::unique_ptr<OwnedTransaction>> StoreTransaction::begin(Context& context) {
  auto lease = context.writers.take();
  if (!lease.ok()) return lease.error();
  if (auto begun = (*lease)->begin(); !begun.ok()) return begun.error();
  return std::unique_ptr<OwnedTransaction>(new StoreTransaction(context, std::move(lease).value()));
}

StoreTransaction::~StoreTransaction() {
  if (open_) (void)rollback();
}

Result<std::vector<Written>> StoreTransaction::insert(
    const TableName& table, std::span<const std::shared_ptr<const Message>> messages) {
  if (!open_) return ended("write()");
  return insert_messages(lease_->link(), context_.inserts.of(table), messages,
                         context_.writers.settings().clock->wall_now(), true);
}

Result<std::vector<Written>> StoreTransaction::insert_blind(
    const TableName& table, std::span<const std::shared_ptr<const Message>> messages) {
  if (!open_) return ended("write()");
  return insert_messages(lease_->link(), context_.inserts.of(table), messages,
                         context_.writers.settings().clock->wall_now(), false);
}

Status StoreTransaction::commit() {
  if (!open_) return ended("commit()");
  open_ = false;
  auto done = lease_->commit();
  lease_.release();
  if (done.ok()) {
    committed();
  } else if (done.error().code == Code::storage_in_doubt) {
    abandoned();
  } else {
    rolled_back();
  }
  return done;
}

Status StoreTransaction::rollback() {
  if (!open_) return ended("rollback()");
  open_ = false;
  auto done = lease_->rollback();
  lease_.release();
  rolled_back();
  return done;
}

PGconn* connection_of(Transaction& transaction) noexcept {
  const auto* ours = dynamic_cast<StoreTransaction*>(&transaction);
  return ours == nullptr ? nullptr : ours->handle();
}

}  // namespace sagabox::postgres
