#include "core/ulid.hpp"

#include <sagabox/id.hpp>

#include <algorithm>

namespace sagabox {
namespace {

constexpr std::string_view crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::uint64_t millis_max = (std::uint64_t{1} << 48) - 1;
constexpr std::uint64_t high_max = 0xffff;

/// Writes the lowest `count × 5` bits of `value`, most significant first.
void write_base32(char* out, int count, std::uint64_t value) noexcept {
  for (int i = count - 1; i >= 0; --i) {
    out[i] = crockford[value & 31];
    value >>= 5;
  }
}

/// 80 bits after the time: 16 characters, of which the first four hold `high` (16 bits) and the top
/// of `low`.
void write_ulid(char* out, std::uint64_t millis, std::uint64_t high, std::uint64_t low) noexcept {
  write_base32(out, 10, millis);
  write_base32(out + 10, 4, (high << 4) | (low >> 60));
  write_base32(out + 14, 12, low);
}

std::uint64_t millis_of(WallTime time) noexcept {
  const auto millis =
      std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return millis < 0 ? 0 : std::min(static_cast<std::uint64_t>(millis), millis_max);
}

}  // namespace

std::string id_problem(std::string_view text) {
  constexpr std::size_t length_max = MessageId::length_max;
  constexpr std::string_view right = "give 1 to 36 printable ASCII characters without spaces";
  if (text.empty()) return "empty; " + std::string(right);
  if (text.size() > length_max) {
    return std::to_string(text.size()) + " bytes, at most " + std::to_string(length_max) +
           " are allowed; " + std::string(right);
  }
  const auto* bad =
      std::find_if(text.begin(), text.end(), [](char c) { return c <= ' ' || c > '~'; });
  if (bad == text.end()) return {};
  return "byte " + std::to_string(bad - text.begin() + 1) + " is not allowed; " +
         std::string(right);
}

void UlidSource::write(char* out) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = millis_of(clock_.wall_now());
  const bool first = (high_ | low_) == 0;
  bool fresh = first || now > last_millis_;
  if (fresh) {
    last_millis_ = std::max(now, last_millis_);
  } else if (++low_ == 0 && ++high_ > high_max) {
    // The random part has overflowed: use the next millisecond, which keeps the order.
    last_millis_ = std::min(last_millis_ + 1, millis_max);
    fresh = true;
  }
  if (fresh) {
    high_ = random_.next() & high_max;
    low_ = random_.next();
    if ((high_ | low_) == 0) low_ = 1;  // zero means that no id was generated yet
  }
  write_ulid(out, last_millis_, high_, low_);
}

std::string ulid_of(WallTime time, const Digest& bits) {
  std::uint64_t high = 0;
  for (int i = 0; i < 2; ++i) high = high << 8 | bits[static_cast<std::size_t>(i)];
  std::uint64_t low = 0;
  for (int i = 2; i < 10; ++i) low = low << 8 | bits[static_cast<std::size_t>(i)];
  std::string text(26, '0');
  write_ulid(text.data(), millis_of(time), high, low);
  return text;
}

std::uint64_t stable_hash(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace sagabox
