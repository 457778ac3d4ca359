#pragma once

#include <sagabox/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sagabox::routing {

/// `orders.order.*.v1`: `*` matches one part between dots, `**` at the end matches one or more.
class TopicPattern {
 public:
  static Result<TopicPattern> parse(std::string_view text);

  [[nodiscard]] bool fits(std::string_view topic) const;
  /// Whether this pattern matches every topic that `other` matches.
  [[nodiscard]] bool covers(const TopicPattern& other) const;
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::vector<std::string> parts_;  // without the `**`
  bool open_end_ = false;
};

}  // namespace sagabox::routing
