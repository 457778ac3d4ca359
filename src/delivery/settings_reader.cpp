#include "delivery/settings_reader.hpp"

#include "core/duration_text.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sagabox::delivery {
namespace {

using Kind = JsonNode::Kind;

std::string joined_names(std::span<const std::string> names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

SettingsReader::SettingsReader(const JsonNode& node, std::string place)
    : node_(node), place_(std::move(place)) {
  if (node.kind == Kind::object) return;
  fail(misplaced(place_.empty() ? "settings" : place_,
                 "is " + std::string(kind_text(node.kind)) + "; must be an object"));
}

std::string SettingsReader::place(std::string_view name) const { return place_of(place_, name); }

const JsonNode* SettingsReader::member(std::string_view name, Kind kind) {
  known_.emplace_back(name);
  if (node_.kind != Kind::object) return nullptr;
  const auto found = std::ranges::find(node_.members, name, &JsonNode::Member::name);
  if (found == node_.members.end()) return nullptr;
  if (found->value.kind == kind) return &found->value;
  fail(misplaced(place(name), "is " + std::string(kind_text(found->value.kind)) + "; must be " +
                                  std::string(kind_text(kind))));
  return nullptr;
}

std::optional<std::string> SettingsReader::text(std::string_view name) {
  const auto* const node = member(name, Kind::text);
  return node == nullptr ? std::nullopt : std::optional(node->text);
}

std::optional<std::uint32_t> SettingsReader::count(std::string_view name, std::uint32_t min,
                                                   std::uint32_t max) {
  const auto value = number(name, min, max);
  if (!value) return std::nullopt;
  if (*value == std::floor(*value)) return static_cast<std::uint32_t>(*value);
  fail(misplaced(place(name), "must be a whole number"));
  return std::nullopt;
}

std::optional<long double> SettingsReader::number(std::string_view name, long double min,
                                                  long double max) {
  const auto* const node = member(name, Kind::number);
  if (node == nullptr) return std::nullopt;
  if (node->number >= min && node->number <= max) return node->number;
  fail(misplaced(place(name), quoted(node->text) + " is not between " +
                                  std::to_string(static_cast<long long>(min)) + " and " +
                                  std::to_string(static_cast<long long>(max))));
  return std::nullopt;
}

Result<Duration> SettingsReader::duration_of(const JsonNode& node, std::string_view place,
                                             Duration min, Duration max) {
  const auto value = node.kind == Kind::text ? duration_from_text(node.text) : std::nullopt;
  if (!value)
    return misplaced(place, "write a number and a unit: \"500ms\", \"5s\", \"2h\", \"7d\"");
  if (*value >= min && *value <= max) return *value;
  return misplaced(place, quoted(node.text) + " is not between " + exact_duration_text(min) +
                              " and " + exact_duration_text(max));
}

std::optional<Duration> SettingsReader::duration(std::string_view name, Duration min,
                                                 Duration max) {
  const auto* const node = member(name, Kind::text);
  if (node == nullptr) return std::nullopt;
  auto value = duration_of(*node, place(name), min, max);
  if (value.ok()) return *value;
  fail(value.error());
  return std::nullopt;
}

std::optional<std::size_t> SettingsReader::choice(std::string_view name,
                                                  std::span<const std::string_view> names) {
  const auto* const node = member(name, Kind::text);
  if (node == nullptr) return std::nullopt;
  const auto found = std::ranges::find(names, std::string_view(node->text));
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  fail(misplaced(place(name),
                 quoted(node->text) + " is unknown; write one of " +
                     joined_names(std::vector<std::string>(names.begin(), names.end()))));
  return std::nullopt;
}

Status SettingsReader::status() const {
  if (error_) return *error_;
  for (const auto& member : node_.members) {
    if (std::ranges::find(known_, member.name) != known_.end()) continue;
    const auto near = nearest(member.name, known_);
    return misplaced(place(member.name), near.empty()
                                             ? "is unknown; there are " + joined_names(known_)
                                             : "is unknown; did you mean \"" + near + "\"?");
  }
  return {};
}

}  // namespace sagabox::delivery
