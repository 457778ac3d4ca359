#pragma once

#include "delivery/json_node.hpp"

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::delivery {

/// Reads the members of one object; keeps the first mistake with its place. The node outlives it.
class SettingsReader {
 public:
  SettingsReader(const JsonNode& node, std::string place);

  /// Null if it was left out or something is wrong with it.
  const JsonNode* member(std::string_view name, JsonNode::Kind kind);
  std::optional<std::string> text(std::string_view name);
  std::optional<std::uint32_t> count(std::string_view name, std::uint32_t min, std::uint32_t max);
  std::optional<long double> number(std::string_view name, long double min, long double max);
  std::optional<Duration> duration(std::string_view name, Duration min, Duration max);
  /// The index of the text among `names`.
  std::optional<std::size_t> choice(std::string_view name, std::span<const std::string_view> names);
  /// The same for an element of a list.
  static Result<Duration> duration_of(const JsonNode& node, std::string_view place, Duration min,
                                      Duration max);

  [[nodiscard]] std::string place(std::string_view name) const;
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  /// The first mistake, or a member that nobody asked for.
  [[nodiscard]] Status status() const;

 private:
  const JsonNode& node_;
  std::string place_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace sagabox::delivery
