#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace sagabox {
namespace {

constexpr std::size_t quoted_characters_max = 64;

constexpr bool is_printable_ascii(char c) noexcept { return c >= ' ' && c <= '~'; }

/// Decoded from the first byte of a sequence: its length, the bits of that byte, and the smallest
/// code point that needs this length.
struct Lead {
  std::size_t bytes;
  char32_t bits;
  char32_t smallest;
};

constexpr Lead lead(unsigned char first) noexcept {
  if (first < 0x80) return {1, first, 0};
  if ((first & 0xe0U) == 0xc0) return {2, first & 0x1fU, 0x80};
  if ((first & 0xf0U) == 0xe0) return {3, first & 0x0fU, 0x800};
  if ((first & 0xf8U) == 0xf0) return {4, first & 0x07U, 0x10000};
  return {0, 0, 0};
}

}  // namespace

Utf8Character utf8_front(std::string_view text) noexcept {
  if (text.empty()) return {};
  const Lead start = lead(static_cast<unsigned char>(text[0]));
  if (start.bytes == 0 || text.size() < start.bytes) return {};
  char32_t code = start.bits;
  for (std::size_t i = 1; i < start.bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) != 0x80) return {};
    code = (code << 6) | (byte & 0x3fU);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < start.smallest || surrogate || code > 0x10ffff) return {};
  return {start.bytes, code};
}

TextFacts text_facts(std::string_view text) noexcept {
  TextFacts facts;
  const auto plain = std::find_if_not(text.begin(), text.end(), is_printable_ascii);
  facts.characters = static_cast<std::size_t>(plain - text.begin());
  for (std::size_t at = facts.characters; at < text.size(); ++facts.characters) {
    const auto c = utf8_front(text.substr(at));
    const bool printable = c.bytes != 0 && !is_control(c.code_point);
    if (!printable && facts.unprintable_at == std::string_view::npos) facts.unprintable_at = at;
    at += std::max<std::size_t>(c.bytes, 1);
  }
  return facts;
}

std::string name_problem(std::string_view text, std::size_t length_max) {
  const auto problem = [&](const std::string& what) {
    return what + "; give 1 to " + std::to_string(length_max) + " printable characters";
  };
  if (text.empty()) return problem("empty");
  const auto facts = text_facts(text);
  if (facts.unprintable_at != std::string_view::npos) {
    return problem("not printable at byte " + std::to_string(facts.unprintable_at));
  }
  if (facts.characters > length_max)
    return problem(std::to_string(facts.characters) + " characters");
  return {};
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++characters) {
    if (characters == quoted_characters_max) {
      out += "…";
      break;
    }
    const auto c = utf8_front(text.substr(at));
    if (c.bytes == 0 || is_control(c.code_point)) {
      out += '?';
    } else {
      out += text.substr(at, c.bytes);
    }
    at += std::max<std::size_t>(c.bytes, 1);
  }
  out += '"';
  return out;
}

std::string duration_text(Duration duration) {
  struct Unit {
    Duration::rep nanoseconds;
    const char* name;
  };
  constexpr std::array<Unit, 4> units{
      {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}, {1, "ns"}}};
  if (duration == Duration::zero()) return "0s";
  const auto count = duration.count();
  for (const auto& unit : units) {
    if (count % unit.nanoseconds == 0) return std::to_string(count / unit.nanoseconds) + unit.name;
    // Small multiples use the smaller unit, "1500ms"; larger ones are easier to read with a
    // fraction.
    if (count / unit.nanoseconds >= 10 || count / unit.nanoseconds <= -10) {
      std::array<char, 48> text{};
      std::snprintf(text.data(), text.size(), "%.6g%s",
                    static_cast<double>(count) / static_cast<double>(unit.nanoseconds), unit.name);
      return text.data();
    }
  }
  return std::to_string(count) + "ns";
}

std::string age_text(Duration age) {
  namespace chrono = std::chrono;
  if (age < chrono::milliseconds(1)) return "0s";
  if (age < chrono::seconds(1)) {
    return std::to_string(chrono::floor<chrono::milliseconds>(age).count()) + "ms";
  }
  const auto seconds = chrono::floor<chrono::seconds>(age).count();
  if (seconds < 60) return std::to_string(seconds) + "s";
  std::array<char, 48> text{};
  const auto two = [&](std::int64_t large, char large_unit, std::int64_t small, char small_unit) {
    std::snprintf(text.data(), text.size(), "%lld%c%02lld%c", static_cast<long long>(large),
                  large_unit, static_cast<long long>(small), small_unit);
    return std::string(text.data());
  };
  if (seconds < 3600) return two(seconds / 60, 'm', seconds % 60, 's');
  if (seconds < 86'400) return two(seconds / 3600, 'h', seconds / 60 % 60, 'm');
  return two(seconds / 86'400, 'd', seconds / 3600 % 24, 'h');
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  out.reserve(text.size());
  for (;;) {
    const auto at = text.find(what);
    out.append(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    out.append(by);
    text.remove_prefix(at + what.size());
  }
}

std::string utc_text(WallTime time) {
  namespace chrono = std::chrono;
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss clock{chrono::floor<chrono::milliseconds>(time - day)};
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()),
                static_cast<int>(clock.subseconds().count()));
  return text.data();
}

}  // namespace sagabox
