#pragma once

#include <sagabox/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sagabox::routing {

/// `orders.order.*.v1`: `*` stands for one part between dots, `**` at the end for one or more.
class TopicPattern {
 public:
  static Result<TopicPattern> parse(std::string_view text);

  [[nodiscard]] bool fits(std::string_view topic) const;
  /// Every topic that `other` fits fits this one, too.
  [[nodiscard]] bool covers(const TopicPattern& other) const;
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::vector<std::string> parts_;  // without the `**`
  bool open_end_ = false;
};

}  // namespace sagabox::routing
