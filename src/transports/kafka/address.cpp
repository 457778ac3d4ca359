#include "transports/kafka/address.hpp"

#include "core/masked_url.hpp"
#include "core/text.hpp"

#include <algorithm>

namespace sagabox::kafka {
namespace {

constexpr std::string_view scheme = "kafka:";
constexpr std::size_t topic_length_max = 249;

/// Kafka's own rule; empty if the name is valid.
std::string topic_problem(std::string_view name) {
  if (name.empty()) return "no topic is given";
  if (name.size() > topic_length_max) {
    return "the topic has " + std::to_string(name.size()) + " characters, at most " +
           std::to_string(topic_length_max) + " are allowed";
  }
  const auto is_right = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
  };
  if (!std::all_of(name.begin(), name.end(), is_right)) {
    return "a topic is made of letters, digits and . _ -";
  }
  if (name == "." || name == "..") return "a topic is not . or ..";
  return {};
}

Error wrong_address(std::string_view text, const std::string& problem) {
  return {Code::config_invalid, "address " + quoted(masked_url(text)) + ": " + problem};
}

}  // namespace

Result<std::shared_ptr<const KafkaTopic>> KafkaTopic::parse(std::string_view text,
                                                            const spi::AddressSettings& settings) {
  const auto name = text.starts_with(scheme) ? text.substr(scheme.size()) : std::string_view();
  if (auto problem = topic_problem(name); !problem.empty()) {
    return wrong_address(text, problem + "; give one such as kafka:orders");
  }
  if (!settings.empty()) {
    return wrong_address(
        text, "setting " + quoted(settings.front().first) + " is unknown; kafka: has none");
  }
  auto topic = std::make_shared<KafkaTopic>();
  topic->name_ = name;
  return std::shared_ptr<const KafkaTopic>(std::move(topic));
}

}  // namespace sagabox::kafka
