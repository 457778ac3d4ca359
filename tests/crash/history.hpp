#pragma once

#include "crash/journal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sagabox::crash {

/// A message that was committed, as its producer noted it in the same transaction.
struct Truth {
  std::string id;
  std::uint64_t sequence = 0;
  std::string key{};     ///< empty: none
  bool ordered = false;  ///< its producers held a lock of the key: their order is the sequence
  bool delayed = false;  ///< goes when its time comes, whatever its key does
};

/// A shard went to another worker without having been given back.
struct TakeOver {
  std::uint16_t shard = 0;
  std::uint64_t epoch = 0;  ///< that it began
};

/// All that is left when everybody has gone.
struct History {
  std::vector<Truth> truths;
  std::vector<Promise> promises;
  std::vector<Delivered> delivered;  ///< in the order in which it happened
  std::vector<TakeOver> take_overs;
  std::vector<std::string> pending;  ///< ids that are still in the outbox
  std::vector<std::string> buried;   ///< ids of dead letters
  std::vector<std::string> archived;
  bool retained = true;  ///< done messages are to be found in the archive; else nowhere
};

/// What of it must not be: messages lost, from nowhere, out of order, or repeated though nobody
/// died. Empty: all is well. Knows nothing of clocks: a repeat needs a take-over between.
std::vector<std::string> problems_of(const History& history);

}  // namespace sagabox::crash
