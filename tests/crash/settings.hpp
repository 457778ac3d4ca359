#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>

namespace sagabox::crash {

/// Settings of a program, as `name=value` on its command line.
class Settings {
 public:
  Settings(int count, char** arguments) {
    for (int at = 1; at < count; ++at) {
      const std::string word = arguments[at];
      const auto equals = word.find('=');
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  [[nodiscard]] std::string text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second;
  }
  [[nodiscard]] std::uint64_t number(const std::string& name, std::uint64_t otherwise) const {
    const auto value = text(name);
    return value.empty() ? otherwise : std::stoull(value);
  }

 private:
  std::map<std::string, std::string> values_;
};

/// What `attempt` gives, asked again while the server is away or cuts us off.
template <class Attempt>
auto patiently(Attempt&& attempt) {
  constexpr int tries_max = 2'000;
  auto result = attempt();
  for (int tries = 1; !result.ok() && tries < tries_max; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    result = attempt();
  }
  return std::move(result).value();
}

}  // namespace sagabox::crash
