#pragma once

#include "crash/journal.hpp"

#include <sagabox/outbox.hpp>

#include <cstdint>
#include <string>

namespace sagabox::crash {

struct SqliteProducerSettings {
  std::string file;
  std::string vfs;
  std::string name;  ///< begins the ids of its messages
  std::uint64_t seed = 1;
  /// Kills its process before the COMMIT of a transaction that it has promised.
  bool promises_early = false;
};

/// One thread's random transactions, in the store's transactions, in its own, and by plain SQL,
/// until the process is killed: several messages and keys, rollbacks, savepoints, delayed messages,
/// handlers that are to fail. Each message has its row in `ledger`, written in the same
/// transaction. What is to be rolled back is promised before, what was committed after.
[[noreturn]] void produce_until_killed(Store& store, Outbox& outbox,
                                       const SqliteProducerSettings& settings,
                                       const Journal& promises);

}  // namespace sagabox::crash
