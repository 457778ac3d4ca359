#include "core/timestamp.hpp"

#include <array>
#include <cstdio>

namespace sagabox {
namespace {

namespace chrono = std::chrono;

/// Parses a text from the left; after the first mismatch the whole text is invalid.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  int digits(std::size_t count) {
    int value = 0;
    for (std::size_t at = 0; at < count; ++at) {
      if (!next_is_digit()) return fail();
      value = value * 10 + (left_.front() - '0');
      left_.remove_prefix(1);
    }
    return value;
  }
  void expect(std::string_view any_of) {
    if (left_.empty() || any_of.find(left_.front()) == std::string_view::npos) {
      (void)fail();
      return;
    }
    left_.remove_prefix(1);
  }
  bool skip(char c) {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] bool next_is_digit() const {
    return !left_.empty() && left_.front() >= '0' && left_.front() <= '9';
  }
  /// Microseconds; "5" is half a second.
  int fraction() {
    int value = 0;
    int places = 0;
    if (!next_is_digit()) return fail();
    for (; next_is_digit(); left_.remove_prefix(1)) {
      if (places < 6) value = value * 10 + (left_.front() - '0');
      ++places;
    }
    for (; places < 6; ++places) value *= 10;
    return value;
  }
  [[nodiscard]] bool complete() const { return fine_ && left_.empty(); }

 private:
  int fail() {
    fine_ = false;
    left_ = {};
    return 0;
  }
  std::string_view left_;
  bool fine_ = true;
};

/// The offset of the parsed time from UTC.
chrono::minutes offset(Reader& reader) {
  if (reader.skip('Z') || reader.skip('z')) return {};
  const bool behind = reader.skip('-');
  if (!behind) reader.expect("+");
  const int hours = reader.digits(2);
  reader.expect(":");
  const int minutes = reader.digits(2);
  if (hours > 23 || minutes > 59) reader.expect("");
  const chrono::minutes ahead = chrono::hours(hours) + chrono::minutes(minutes);
  return behind ? -ahead : ahead;
}

}  // namespace

std::string timestamp_text(WallTime time) {
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss clock{time - day};
  std::array<char, 64> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ",
      static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
      static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
      static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()),
      static_cast<int>(clock.subseconds().count()));
  return {text.data(), static_cast<std::size_t>(length)};
}

std::optional<WallTime> time_from_text(std::string_view text) {
  Reader reader(text);
  const chrono::year year{reader.digits(4)};
  reader.expect("-");
  const chrono::month month{static_cast<unsigned>(reader.digits(2))};
  reader.expect("-");
  const chrono::day day{static_cast<unsigned>(reader.digits(2))};
  reader.expect("Tt ");
  const int hour = reader.digits(2);
  reader.expect(":");
  const int minute = reader.digits(2);
  reader.expect(":");
  const int second = reader.digits(2);
  const int micros = reader.skip('.') ? reader.fraction() : 0;
  const chrono::minutes ahead = offset(reader);
  const chrono::year_month_day date{year, month, day};
  if (!reader.complete() || !date.ok() || hour > 23 || minute > 59 || second > 59) {
    return std::nullopt;
  }
  const auto time = WallTime{chrono::sys_days{date}} + chrono::hours(hour) +
                    chrono::minutes(minute) + chrono::seconds(second) +
                    chrono::microseconds(micros) - ahead;
  // The offset can move the time out of the range of years that can be formatted.
  const auto year_in_utc = chrono::year_month_day{chrono::floor<chrono::days>(time)}.year();
  if (year_in_utc < chrono::year(0) || year_in_utc > chrono::year(9999)) return std::nullopt;
  return time;
}

}  // namespace sagabox
