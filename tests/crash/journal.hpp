#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Real processes on a real PostgreSQL, killed, stopped and cut off; and what they leave behind.
namespace sagabox::crash {

/// Lines that several processes append to one file, each in one write: a line that was written
/// survives its writer, and the order of the file is the order in which they were. One whose writer
/// was killed meanwhile may be there in part, which is not read.
class Journal {
 public:
  explicit Journal(const std::filesystem::path& file);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Without the line's end. Safe from any thread.
  void append(std::string line) const;

 private:
  int file_;
};

/// Words of every line that is complete.
std::vector<std::vector<std::string>> read_journal(const std::filesystem::path& file);

/// What a relay notes of a message it was given.
struct Delivered {
  enum class Kind : std::uint8_t {
    held,    ///< its handler waits to be let go
    failed,  ///< its handler asked for another attempt
    done,
  };
  Kind kind = Kind::done;
  std::string id;
  std::uint64_t sequence = 0;
  std::uint16_t shard = 0;
  std::uint64_t epoch = 0;
  std::uint32_t attempt = 1;
  int process = 0;

  [[nodiscard]] std::string line() const;
};

/// A settle that the database did not take, since the shard was in other hands.
struct Refused {
  std::uint16_t shard = 0;
  std::uint64_t epoch = 0;
  int process = 0;

  [[nodiscard]] std::string line() const;
};

/// What relays wrote.
struct RelayNotes {
  std::vector<Delivered> delivered;
  std::vector<Refused> refused;
  /// Counters of relays that stopped in peace, added up, by name.
  std::map<std::string, double> figures;
};
RelayNotes read_relay_notes(const std::filesystem::path& file);

/// Begins ids that several transactions write at the same time: one's rollback says nothing about
/// the message.
inline constexpr std::string_view shared_prefix = "shared-";

/// What a producer knows of the end of a message's transaction.
enum class End : std::uint8_t { committed, rolled_back, in_doubt };
struct Promise {
  std::string id;
  End end = End::committed;
};
std::string promise_line(End end, const std::vector<std::string>& ids);
std::vector<Promise> read_promises(const std::filesystem::path& file);

}  // namespace sagabox::crash
