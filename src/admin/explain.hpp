#pragma once

#include <sagabox/explanation.hpp>
#include <sagabox/held_up.hpp>
#include <sagabox/owner_view.hpp>
#include <sagabox/records.hpp>
#include <sagabox/refused_result.hpp>
#include <sagabox/spi/ownership_store.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::admin {

/// Earlier pending messages of the same key. Messages that are merely delayed, or were released,
/// hold up no others and are not included.
struct EarlierOfKey {
  std::uint64_t count = 0;
  bool more = false;                  ///< there may be more, which were not counted
  std::vector<Sequence> sequences{};  ///< the first of them
};

/// All facts about a message at one moment.
struct MessageFacts {
  std::string table{};
  MessageId id{};
  std::optional<MessageRecord> record{};  ///< nullopt: it does not exist
  std::vector<Pause> pauses{};            ///< of the table
  std::vector<spi::ShardOwner> owners{};  ///< of the scope that delivers the table
  EarlierOfKey earlier{};
  std::vector<HeldUp> held_up{};                 ///< from a router; empty if none was asked
  std::optional<Duration> oldest_transaction{};  ///< of the database
  WallTime now{};                                ///< by the database's clock
  std::optional<RefusedResult> refused{};        ///< as the process that delivers knows
  std::optional<OwnerView> owner_view{};  ///< nullopt: the one that delivers could not be asked
  std::vector<std::string> key_behind{};  ///< what its key may wait behind, a text each
};

/// Pure: no store, clock or thread.
Explanation explain(const MessageFacts& facts);

}  // namespace sagabox::admin
