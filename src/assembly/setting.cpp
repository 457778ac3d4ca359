#include "assembly/setting.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace sagabox::assembly {

const ConfigNode* ConfigNode::find(std::string_view key) const {
  const auto found =
      std::ranges::find_if(members, [&](const Member& member) { return member.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

ConfigNode& ConfigNode::at(std::string_view key) {
  if (shape == Shape::list) {
    // A list of names is read as a map without values.
    for (auto& member : members) {
      member.key = std::exchange(member.value, ConfigNode{.from = member.value.from}).text;
    }
  }
  if (shape == Shape::text) {
    members.push_back({.key = std::exchange(text, {}), .from = from, .value = {.from = from}});
  }
  shape = Shape::map;
  const auto found =
      std::ranges::find_if(members, [&](const Member& member) { return member.key == key; });
  if (found != members.end()) return found->value;
  return members.emplace_back(Member{.key = std::string(key)}).value;
}

Setting Setting::between(std::string least, std::string most) && {
  min = std::move(least);
  max = std::move(most);
  return std::move(*this);
}

Setting Setting::hidden(Secret how) && {
  secret = how;
  return std::move(*this);
}

Setting Setting::checked(std::function<std::string(const void*)> by) && {
  check = std::move(by);
  return std::move(*this);
}

Setting Setting::short_for(std::string part) && {
  shorthand = std::move(part);
  return std::move(*this);
}

Setting Setting::changed_by(Change how) && {
  change = how;
  return std::move(*this);
}

bool names_a_secret(std::string_view name) {
  constexpr std::array<std::string_view, 9> words{
      "secret", "password", "passphrase", "token", "key", "auth", "header", "jaas", "cookie"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(
      words, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace sagabox::assembly
