#pragma once

#include "stores/postgres/driver/pool.hpp"

#include <type_traits>
#include <utility>

namespace sagabox::postgres {

/// Runs `work(connection)` in a transaction of its own; rolls back if it returns an error.
template <class Work>
auto in_transaction(Pool& pool, Work&& work) -> std::invoke_result_t<Work, Connection&> {
  auto connection = pool.take();
  if (!connection.ok()) return connection.error();
  Connection& open = **connection;
  if (auto begun = open.begin(); !begun.ok()) return begun.error();
  auto result = std::forward<Work>(work)(open);
  if (!result.ok()) {
    (void)open.rollback();
    return result;
  }
  if (auto committed = open.commit(); !committed.ok()) return committed.error();
  return result;
}

}  // namespace sagabox::postgres
