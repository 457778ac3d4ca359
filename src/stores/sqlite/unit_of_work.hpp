#pragma once

#include "stores/sqlite/writer.hpp"

#include <type_traits>
#include <utility>

namespace sagabox::sqlite {

/// Runs `work(connection)` in a transaction of its own; rolls back if it returns an error.
template <class Work>
auto in_transaction(Writer& writer, Work&& work) -> std::invoke_result_t<Work, Connection&> {
  auto transaction = writer.begin();
  if (!transaction.ok()) return transaction.error();
  auto result = std::forward<Work>(work)(transaction->connection());
  if (!result.ok()) return result;
  if (auto committed = transaction->commit(); !committed.ok()) return committed.error();
  return result;
}

}  // namespace sagabox::sqlite
