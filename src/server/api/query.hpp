#pragma once

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::server {

/// Returns nullopt if a % is not followed by two hex digits.
std::optional<std::string> percent_decoded(std::string_view text);
/// Encoded as one segment of a path.
std::string percent_encoded(std::string_view text);

/// The path of a request's target, in segments: "/v1/tables" is {"v1", "tables"}. Nullopt if it is
/// not a path.
std::optional<std::vector<std::string>> path_segments(std::string_view target);

/// The parameters after the ?, read like `Fields`: read all, then call `status`.
class Query {
 public:
  /// `target` is the whole target.
  explicit Query(std::string_view target);

  std::string text(std::string_view name) { return maybe_text(name).value_or(""); }
  std::optional<std::string> maybe_text(std::string_view name);
  std::optional<std::uint64_t> count(std::string_view name, std::uint64_t min, std::uint64_t max);
  bool flag(std::string_view name);
  std::optional<WallTime> time(std::string_view name);

  void wrong(std::string_view name, const std::string& what);
  [[nodiscard]] Status status() const;

 private:
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace sagabox::server
