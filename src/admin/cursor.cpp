#include "admin/cursor.hpp"

#include "admin/checks.hpp"

#include <array>
#include <charconv>
#include <cstdio>

namespace sagabox::admin {
namespace {

/// Texts are preceded by their lengths, so that no two lists have the same encoding.
class Spelling {
 public:
  void add(std::string_view text) {
    text_ += std::to_string(text.size());
    text_ += ':';
    text_ += text;
  }
  template <class Value, class Text>
  void add(const std::optional<Value>& value, Text text) {
    if (value) {
      add(text(*value));
    } else {
      text_ += '-';
    }
  }
  [[nodiscard]] std::uint32_t hash() const {
    const std::uint64_t hash = stable_hash(text_);
    return static_cast<std::uint32_t>(hash ^ (hash >> 32));
  }

 private:
  std::string text_;
};

constexpr std::size_t mark_digits = 8;

}  // namespace

std::uint32_t list_mark(const TableName& table, MessageState state, const MessageFilter& filter) {
  const auto itself = [](const std::string& text) { return text; };
  const auto micros = [](WallTime time) { return std::to_string(time.time_since_epoch().count()); };
  const auto number = [](Sequence sequence) { return std::to_string(sequence.value); };
  Spelling spelling;
  spelling.add(table.str());
  spelling.add(state_name(state));
  spelling.add(filter.tenant, itself);
  spelling.add(filter.topic, itself);
  spelling.add(filter.aggregate_type, itself);
  spelling.add(filter.key, itself);
  spelling.add(filter.code, [](Code code) { return code_name(code); });
  spelling.add(filter.from, micros);
  spelling.add(filter.until, micros);
  spelling.add(filter.first, number);
  spelling.add(filter.last, number);
  spelling.add(filter.retrying ? "retrying" : "");
  return spelling.hash();
}

std::string cursor_text(std::uint32_t mark, Sequence after) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%08lx%llx", static_cast<unsigned long>(mark),
                static_cast<unsigned long long>(after.value));
  return text.data();
}

Result<Sequence> cursor_place(std::uint32_t mark, std::string_view text) {
  if (text.empty()) return Sequence{};
  Sequence place;
  if (text.size() > mark_digits) {
    const auto [end, error] =
        std::from_chars(text.data() + mark_digits, text.data() + text.size(), place.value, 16);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && cursor_text(mark, place) == text) return place;
  }
  return wrong(
      "cursor: not one of this list; hand back what the page before said, with the same table, "
      "state and filter, or leave it out to start again");
}

}  // namespace sagabox::admin
