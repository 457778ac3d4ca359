#include "stores/sqlite/transaction.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sagabox::sqlite {
namespace {

Error ended(std::string_view call) {
  return {Code::tx_no_transaction,
          std::string(call) + " needs an open transaction, and this one has ended; begin another"};
}

}  // namespace

Result<std::unique_ptr<OwnedTransaction>> StoreTransaction::begin(Context& context) {
  auto transaction = context.writer->begin();
  if (!transaction.ok()) return transaction.error();
  return std::unique_ptr<OwnedTransaction>(
      new StoreTransaction(context, std::move(transaction).value()));
}

StoreTransaction::~StoreTransaction() {
  if (is_open()) (void)rollback();
}

Result<std::vector<Written>> StoreTransaction::insert(
    const TableName& table, std::span<const std::shared_ptr<const Message>> messages) {
  if (!is_open()) return ended("write()");
  auto written = insert_messages(transaction_.connection().link(), table,
                                 context_.inserts.of(table), messages, context_.clock.wall_now());
  if (!written.ok()) return written;
  written_to_.insert(table);
  for (auto& message : *written) {
    if (message.duplicate) continue;
    message.in_savepoint = lent_;
    if (lent_) continue;
    auto& last = last_[table];
    last = std::max(last, message.sequence);
  }
  return written;
}

Status StoreTransaction::commit() {
  if (!is_open()) return ended("commit()");
  if (lent_) find_last();
  auto done = transaction_.commit();
  if (done.ok()) {
    for (const auto& [table, last] : last_) context_.durable.reached(table, last);
    committed();
    for (const auto& table : written_to_) context_.wake.notify(table);
    for (const auto& definition : commanded_) context_.wake.notify(sql::saga_feed(definition));
    if (published_) context_.wake.notify(sql::hub_events_feed);
  } else if (done.error().code == Code::storage_in_doubt) {
    abandoned();
  } else {
    rolled_back();
  }
  return done;
}

void StoreTransaction::find_last() {
  for (const auto& table : written_to_) {
    const auto last =
        last_sequence(transaction_.connection().link(), table, context_.inserts.of(table));
    if (last.ok()) last_[table] = *last;
  }
}

Status StoreTransaction::rollback() {
  if (!is_open()) return ended("rollback()");
  auto done = transaction_.rollback();
  rolled_back();
  return done;
}

sqlite3* connection_of(Transaction& transaction) noexcept {
  auto* ours = dynamic_cast<StoreTransaction*>(&transaction);
  return ours == nullptr ? nullptr : ours->lend();
}

}  // namespace sagabox::sqlite
