#include "delivery/subscription.hpp"

#include "core/text.hpp"
#include "delivery/settings_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace sagabox::delivery {
namespace {

using Kind = JsonNode::Kind;
constexpr std::uint32_t limit_max = 1'000'000;

void read_schedule(SettingsReader& outer, RetrySchedule& retry) {
  const auto* const node = outer.member("retry", Kind::object);
  if (node == nullptr) return;
  SettingsReader reader(*node, outer.place("retry"));
  if (const auto* const waits = reader.member("waits", Kind::list)) {
    const auto place = reader.place("waits");
    if (waits->members.size() > RetrySchedule::waits_max) {
      reader.fail(
          misplaced(place, "has more than " + std::to_string(RetrySchedule::waits_max) + " waits"));
    }
    retry.waits.clear();
    for (std::size_t i = 0; i < waits->members.size(); ++i) {
      auto wait = SettingsReader::duration_of(waits->members[i].value, place_of(place, i), {},
                                              RetrySchedule::wait_ceiling);
      if (!wait.ok()) {
        reader.fail(wait.error());
        break;
      }
      retry.waits.push_back(*wait);
    }
  }
  if (const auto jitter = reader.number("jitter", 0, RetrySchedule::jitter_ceiling)) {
    retry.jitter = static_cast<double>(*jitter);
  }
  if (const auto most = reader.duration("unreachable_max", {}, 4 * RetrySchedule::wait_ceiling)) {
    retry.unreachable_max = *most;
  }
  if (auto status = reader.status(); !status) outer.fail(status.error());
}

void read_limits(SettingsReader& outer, Limits& limits) {
  const auto* const node = outer.member("limits", Kind::object);
  if (node == nullptr) return;
  SettingsReader reader(*node, outer.place("limits"));
  limits.rate = reader.count("rate", 1, limit_max);
  limits.burst = reader.count("burst", 1, limit_max);
  limits.concurrency = reader.count("concurrency", 1, limit_max);
  auto status = reader.status();
  if (status && limits.burst && !limits.rate) {
    status = misplaced(reader.place("burst"), "needs a rate");
  }
  if (!status) outer.fail(status.error());
}

/// A token of RFC 9110.
bool is_token(std::string_view name) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           marks.find(c) != std::string_view::npos;
  });
}

std::string header_problem(const JsonNode::Member& header) {
  if (!is_token(header.name)) return "is not a name of a header: letters, digits and - are";
  if (header.value.kind != Kind::text) {
    return "is " + std::string(kind_text(header.value.kind)) + "; must be a text";
  }
  if (header.name.size() + header.value.text.size() > SubscriptionSettings::header_bytes_max) {
    return "is longer than " + std::to_string(SubscriptionSettings::header_bytes_max) + " bytes";
  }
  // A line break would end the header and begin another.
  if (text_facts(header.value.text).unprintable_at != std::string_view::npos) {
    return "has a control character, or is not UTF-8";
  }
  return {};
}

void read_headers(SettingsReader& outer, Headers& headers) {
  const auto* const node = outer.member("headers", Kind::object);
  if (node == nullptr) return;
  const auto place = outer.place("headers");
  if (node->members.size() > SubscriptionSettings::headers_max) {
    return outer.fail(misplaced(
        place, "has more than " + std::to_string(SubscriptionSettings::headers_max) + " headers"));
  }
  for (const auto& header : node->members) {
    if (auto problem = header_problem(header); !problem.empty()) {
      return outer.fail(misplaced(place_of(place, header.name), problem));
    }
    headers.emplace_back(header.name, header.value.text);
  }
}

}  // namespace

Result<SubscriptionSettings> read_settings(std::string_view json) {
  SubscriptionSettings settings;
  if (json.empty()) return settings;
  constexpr std::size_t levels = 2 * FilterBounds::depth_max + 6;
  auto node = parse_node(json, "settings",
                         {.bytes_max = SubscriptionSettings::bytes_max, .depth_max = levels});
  if (!node.ok()) return node.error();
  SettingsReader reader(*node, "");
  if (const auto* const given = reader.member("filter", Kind::object)) {
    auto filter = Filter::read(*given, "filter");
    if (filter.ok()) {
      settings.filter = std::move(filter).value();
    } else {
      reader.fail(filter.error());
    }
  }
  read_schedule(reader, settings.retry);
  constexpr std::array<std::string_view, 2> orders{"any", "key"};
  if (const auto order = reader.choice("order", orders)) {
    settings.order = static_cast<DeliveryOrder>(*order);
  }
  read_limits(reader, settings.limits);
  read_headers(reader, settings.headers);
  constexpr std::array<std::string_view, 2> modes{"binary", "structured"};
  if (const auto mode = reader.choice("mode", modes)) {
    settings.mode = static_cast<WebhookMode>(*mode);
  }
  using Settings = SubscriptionSettings;
  if (const auto timeout =
          reader.duration("timeout", Settings::timeout_min, Settings::timeout_max)) {
    settings.timeout = *timeout;
  }
  if (const auto after = reader.duration("disable_after", {}, Settings::disable_after_max)) {
    settings.disable_after = *after;
    if (*after > Duration{} && *after < Settings::disable_after_min) {
      reader.fail(misplaced("disable_after", "is below 1h; write 0 to never disable"));
    }
  }
  if (auto status = reader.status(); !status) return status.error();
  return settings;
}

Result<std::vector<routing::TopicPattern>> read_types(std::span<const std::string> types) {
  if (types.empty()) return misplaced("types", "is empty; name types of events, or ** for all");
  if (types.size() > subscription_types_max) {
    return misplaced("types", "has more than " + std::to_string(subscription_types_max));
  }
  std::vector<routing::TopicPattern> patterns;
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto pattern = routing::TopicPattern::parse(types[i]);
    if (!pattern.ok()) return misplaced(place_of("types", i), pattern.error().message);
    patterns.push_back(std::move(pattern).value());
  }
  return patterns;
}

Subscription::Subscription(SubscriptionRecord stored) : record(std::move(stored)) {
  for (const auto& type : record.types) {
    auto pattern = routing::TopicPattern::parse(type);
    if (pattern.ok()) {
      types.push_back(std::move(pattern).value());
    } else {
      problem = pattern.error().message;
    }
  }
  if (types.empty()) types.push_back(routing::TopicPattern::parse("**").value());
  auto read = read_settings(record.settings);
  if (read.ok()) {
    settings = std::move(read).value();
  } else {
    problem = read.error().message;
  }
}

}  // namespace sagabox::delivery
