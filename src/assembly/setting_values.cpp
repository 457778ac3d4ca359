#include "assembly/setting_values.hpp"

#include "core/duration_text.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

namespace sagabox::assembly {
namespace {

using std::chrono::seconds;

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> byte_units{{
    {"GiB", 1ULL << 30U},
    {"MiB", 1ULL << 20U},
    {"KiB", 1ULL << 10U},
    {"B", 1},
}};

std::optional<double> decimal(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) {
    return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string read_value(const std::string& text, std::string& value) {
  value = text;
  return {};
}

std::string read_value(const std::string& text, bool& value) {
  if (text != "true" && text != "false") return "write true or false";
  value = text == "true";
  return {};
}

std::string read_value(const std::string& text, double& value) {
  const auto number = decimal(text);
  if (!number) return "write a number, such as 2 or 0.5";
  value = *number;
  return {};
}

std::string read_value(const std::string& text, Duration& value) {
  const auto read = duration_from_text(text);
  if (!read) return "write a number and a unit: 500ms, 1.5s, 5m, 2h or 7d";
  value = *read;
  return {};
}

std::string read_value(const std::string& text, std::chrono::seconds& value) {
  Duration exact{};
  if (auto problem = read_value(text, exact); !problem.empty()) return problem;
  value = std::chrono::duration_cast<seconds>(exact);
  return value == exact ? std::string() : "write whole seconds, such as 10s";
}

std::string read_count(const std::string& text, std::uint64_t most, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value <= most) return {};
  return "write a whole number";
}

std::string read_bytes(const std::string& text, std::uint64_t& value) {
  constexpr auto right = "write a number of bytes, such as 4096, 64KiB or 1MiB";
  const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  if (!read_count(digits, most, value).empty()) return right;
  const auto unit = digits.size() == text.size() ? "B" : text.substr(digits.size());
  for (const auto& [name, size] : byte_units) {
    if (unit != name) continue;
    if (value > most / size) return right;
    value *= size;
    return {};
  }
  return right;
}

std::string show_value(const std::string& value) { return value; }
std::string show_value(bool value) { return value ? "true" : "false"; }

std::string show_value(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::string(text.data(), end) : std::to_string(value);
}

std::string show_value(Duration value) { return exact_duration_text(value); }

std::string show_bytes(std::uint64_t value) {
  for (const auto& [name, size] : byte_units) {
    if (size > 1 && value != 0 && value % size == 0) {
      return std::to_string(value / size) + std::string(name);
    }
  }
  return std::to_string(value);
}

std::string read_schema_file(const std::string& path, std::optional<JsonSchema>& schema) {
  if (!std::filesystem::is_regular_file(path)) return "it cannot be read as a file";
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return "it cannot be read";
  auto parsed = JsonSchema::parse(text);
  if (!parsed.ok()) return parsed.error().message;
  schema = *std::move(parsed);
  return {};
}

}  // namespace sagabox::assembly
