#include "routing/topic_pattern.hpp"

#include "core/text.hpp"

#include <sagabox/message.hpp>

#include <algorithm>

namespace sagabox::routing {
namespace {

constexpr std::string_view one = "*";
constexpr std::string_view rest = "**";

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const auto dot = text.find('.', from);
    parts.emplace_back(text.substr(from, dot - from));
    if (dot == std::string_view::npos) return parts;
    from = dot + 1;
  }
}

Error invalid(std::string_view text, std::string_view what) {
  return {Code::config_invalid, "topic " + quoted(text) + ": " + std::string(what)};
}

}  // namespace

Result<TopicPattern> TopicPattern::parse(std::string_view text) {
  if (text.empty()) return invalid(text, "is empty; write a topic, or ** for all");
  if (text.size() > MessageRules::topic_length_max) return invalid(text, "is too long (128)");
  TopicPattern pattern;
  pattern.text_ = text;
  pattern.parts_ = parts_of(text);
  pattern.open_end_ = pattern.parts_.back() == rest;
  if (pattern.open_end_) pattern.parts_.pop_back();
  for (const auto& part : pattern.parts_) {
    if (part.empty()) return invalid(text, "has an empty part; write a name or * between the dots");
    if (part == rest) return invalid(text, "has ** in the middle; it stands at the end only");
    if (part != one && part.find('*') != std::string::npos) {
      return invalid(text, "has * within a part; it stands for a whole part between dots");
    }
  }
  return pattern;
}

bool TopicPattern::fits(std::string_view topic) const {
  std::size_t from = 0;
  for (std::size_t at = 0; at < parts_.size(); ++at) {
    if (from == std::string_view::npos) return false;
    const auto dot = topic.find('.', from);
    if (parts_[at] != one && parts_[at] != topic.substr(from, dot - from)) return false;
    from = dot == std::string_view::npos ? dot : dot + 1;
  }
  return open_end_ == (from != std::string_view::npos);
}

bool TopicPattern::covers(const TopicPattern& other) const {
  if (open_end_ ? other.parts_.size() + (other.open_end_ ? 1 : 0) <= parts_.size()
                : other.open_end_ || other.parts_.size() != parts_.size()) {
    return false;
  }
  return std::equal(parts_.begin(), parts_.end(), other.parts_.begin(),
                    [](const std::string& ours, const std::string& theirs) {
                      return ours == one || ours == theirs;
                    });
}

}  // namespace sagabox::routing
