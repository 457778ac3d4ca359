#include "transports/settings.hpp"

#include "core/masked_url.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <charconv>

namespace sagabox::transports {

Result<std::string_view> after_scheme(std::string_view text, std::string_view scheme,
                                      std::string_view example) {
  const auto wrong = [&](std::string what) {
    return Error{Code::config_invalid, "address " + quoted(masked_url(text)) + ": " +
                                           std::move(what) + "; write it as " +
                                           std::string(example)};
  };
  if (!text.starts_with(scheme)) return wrong("it must begin with " + std::string(scheme));
  const auto rest = text.substr(scheme.size());
  if (rest.empty()) return wrong("nothing stands behind " + std::string(scheme));
  if (text_facts(rest).unprintable_at != std::string_view::npos) {
    return wrong("only UTF-8 without control characters is allowed");
  }
  return rest;
}

const std::string* Settings::find(std::string_view name) {
  known_.push_back(name);
  const auto found = std::find_if(given_.begin(), given_.end(),
                                  [&](const auto& setting) { return setting.first == name; });
  return found == given_.end() ? nullptr : &found->second;
}

std::optional<std::uint64_t> Settings::number(std::string_view name, std::uint64_t min,
                                              std::uint64_t max) {
  const auto* const text = find(name);
  if (text == nullptr) return std::nullopt;
  std::uint64_t value = 0;
  const auto* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end || value < min || value > max) {
    if (problem_.empty()) {
      problem_ = "setting " + std::string(name) + ": " + quoted(masked_url(*text)) +
                 " must be a whole number from " + std::to_string(min) + " to " +
                 std::to_string(max);
    }
    return std::nullopt;
  }
  return value;
}

bool Settings::flag(std::string_view name, bool otherwise) {
  const auto* const text = find(name);
  if (text == nullptr) return otherwise;
  if (*text != "true" && *text != "false" && problem_.empty()) {
    problem_ = "setting " + std::string(name) + ": " + quoted(masked_url(*text)) +
               " must be true or false";
  }
  return *text == "true";
}

Status Settings::check() const {
  for (const auto& [name, value] : given_) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    std::string known;
    for (const auto one : known_) known.append(known.empty() ? "" : ", ").append(one);
    return Error{Code::config_invalid, "setting " + quoted(name) + " is unknown here; there " +
                                           (known.empty() ? "are none" : "are " + known)};
  }
  if (!problem_.empty()) return Error{Code::config_invalid, problem_};
  return {};
}

}  // namespace sagabox::transports
