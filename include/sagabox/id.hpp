#pragma once

#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace sagabox {

/// A short printable identifier without heap memory. `Tag` makes ids of different kinds different
/// types.
template <class Tag>
class Id {
 public:
  static constexpr std::size_t length_max = 36;

  Id() = default;

  /// Error unless `text` is 1 to 36 printable ASCII characters without spaces.
  static Result<Id> parse(std::string_view text);

  [[nodiscard]] std::string_view view() const noexcept { return {chars_.data(), length_}; }
  [[nodiscard]] std::string str() const { return std::string(view()); }
  [[nodiscard]] bool empty() const noexcept { return length_ == 0; }

  friend bool operator==(const Id& a, const Id& b) noexcept { return a.view() == b.view(); }
  friend std::strong_ordering operator<=>(const Id& a, const Id& b) noexcept {
    return a.view() <=> b.view();
  }

 private:
  friend class UlidSource;
  std::array<char, length_max> chars_{};
  std::uint8_t length_ = 0;
};

/// Used by every Id::parse: empty if `text` is valid, else what is wrong with it.
std::string id_problem(std::string_view text);
constexpr bool is_id(std::string_view text) noexcept {
  bool printable = true;
  for (const char c : text) printable = printable && c > ' ' && c <= '~';
  return printable && !text.empty() && text.size() <= Id<void>::length_max;
}

template <class Tag>
Result<Id<Tag>> Id<Tag>::parse(std::string_view text) {
  if (!is_id(text)) return Error{Code::schema_validation_failed, id_problem(text)};
  Id id;
  std::memcpy(id.chars_.data(), text.data(), text.size());
  id.length_ = static_cast<std::uint8_t>(text.size());
  return id;
}

using MessageId = Id<struct MessageTag>;
using WorkerId = Id<struct WorkerTag>;

/// Monotonic ULIDs: 26 characters of Crockford base 32, later calls sort after earlier ones even
/// within a millisecond and when the wall clock steps back. Thread-safe.
class UlidSource {
 public:
  UlidSource(const Clock& clock, Random& random) : clock_(clock), random_(random) {}

  template <class IdType>
  IdType next() {
    IdType id;
    write(id.chars_.data());
    id.length_ = 26;
    return id;
  }

 private:
  void write(char* out);

  const Clock& clock_;
  Random& random_;
  std::mutex mutex_;
  std::uint64_t last_millis_ = 0;
  std::uint64_t high_ = 0;  // 16 bits used
  std::uint64_t low_ = 0;
};

/// A number of its own type, which does not convert to other numbers.
template <class Tag, class Rep>
struct Number {
  Rep value{};
  friend constexpr auto operator<=>(Number, Number) = default;
};

/// Assigned when a row is inserted; unique and increasing in a table, but not in commit order.
using Sequence = Number<struct SequenceTag, std::uint64_t>;
using Shard = Number<struct ShardTag, std::uint16_t>;
/// Counts the owners of a shard; every settle is fenced by it.
using Epoch = Number<struct EpochTag, std::uint64_t>;
/// The targets that a message has reached, encoded by its router; kept with the row while the other
/// targets are tried again. 0: none.
using TargetsDone = Number<struct TargetsDoneTag, std::uint64_t>;
using TransactionId = Number<struct TransactionIdTag, std::uint64_t>;
/// Identifies the history of the database; changes when a fail-over loses commits.
using Timeline = Number<struct TimelineTag, std::uint64_t>;

/// Stable across processes and versions (FNV-1a, 64 bits).
std::uint64_t stable_hash(std::string_view text) noexcept;

}  // namespace sagabox

template <class Tag>
struct std::hash<sagabox::Id<Tag>> {
  std::size_t operator()(const sagabox::Id<Tag>& id) const noexcept {
    return std::hash<std::string_view>{}(id.view());
  }
};
template <class Tag, class Rep>
struct std::hash<sagabox::Number<Tag, Rep>> {
  std::size_t operator()(sagabox::Number<Tag, Rep> n) const noexcept {
    return std::hash<Rep>{}(n.value);
  }
};
