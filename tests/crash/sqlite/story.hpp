#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct sqlite3;

namespace sagabox {
class Store;
}

namespace sagabox::crash {

/// Where a message is. Each has its line in the business's table `ledger`, of the same transaction.
enum class Place : std::uint8_t {
  pending,
  waiting,
  archived,
  dead,
  quarantined,
  gone,  ///< delivered or purged: only its line is left
};

using Places = std::map<std::string, Place>;

/// What one transaction changed. Times are counts of acts on the disk.
struct Deed {
  static constexpr std::size_t never = SIZE_MAX;
  std::size_t begun = 0;
  std::size_t certain = never;  ///< from here on no power cut may take it back
  Places changes;
};

/// What was done to a database, in the order of the commits.
struct Story {
  std::vector<Deed> deeds;

  /// A message that has been shown to somebody is certain.
  void shown(const std::string& id, std::size_t at);
  /// Whether a power cut at that time may leave this; otherwise says what is wrong.
  [[nodiscard]] std::string problem(const Places& found, std::size_t cut, bool is_durable) const;
};

/// What lies in the tables of the outbox `orders` and in the ledger.
struct Found {
  Places places;
  /// Also: SQLite finds the file damaged, a message lies in two places or has no line, its sequence
  /// is not the line's, or the counts that are kept are not what is there.
  std::vector<std::string> problems;
};
/// `store` tells the counts; null: nobody asks for them.
Found look_into(sqlite3* connection, Store* store);

}  // namespace sagabox::crash
