#pragma once

#include "crash/journal.hpp"

#include <sagabox/outbox.hpp>

#include <cstdint>
#include <string>

namespace sagabox::crash {

inline constexpr const char* topic = "orders.order.placed.v1";
inline constexpr int keys_ordered = 12;
inline constexpr int keys_loose = 4;

struct ProducerSettings {
  std::string url;
  std::string schema;
  std::string name;  ///< begins the ids of its messages: one producer, one name
  std::uint64_t seed = 1;
  std::uint32_t connections = 3;
  std::uint32_t transactions = 100;  ///< a connection
  bool prepares = false;             ///< some transactions are prepared and ended later
};

/// Drives random transactions on connections of its own and returns when all have ended: several
/// messages and keys, rollbacks, savepoints, transactions that commit late, delayed messages, ids
/// written twice, handlers that are to fail. Each message that is not a duplicate has its row in
/// `ledger`, written in the same transaction. Goes on when connections are cut and when the server
/// is away for a while.
void produce(Store& store, Outbox& outbox, const ProducerSettings& settings,
             const Journal& promises);

}  // namespace sagabox::crash
