#include "admin/hub_checks.hpp"

#include "admin/checks.hpp"
#include "core/base64.hpp"
#include "core/error_text.hpp"
#include "core/json_quote.hpp"
#include "core/masked_url.hpp"
#include "core/text.hpp"
#include "delivery/json_node.hpp"
#include "delivery/subscription.hpp"
#include "delivery/worker/targets.hpp"
#include "observe/audit_events.hpp"
#include "spi/hub_rules.hpp"

#include <algorithm>

namespace sagabox::admin {
namespace {

using delivery::JsonNode;
using delivery::SubscriptionSettings;

constexpr std::string_view hub_table = "hub";
constexpr std::size_t webhook_secret_bytes = 32;
constexpr std::size_t settings_depth_max = 2 * delivery::FilterBounds::depth_max + 6;

bool is_scheme(std::string_view text) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && letter(text.front()) && std::ranges::all_of(text, [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

Status check_http_target(std::string_view rest) {
  if (!rest.starts_with("//")) {
    return wrong("target: the scheme of a web address is followed by //, as in https://host/path");
  }
  rest.remove_prefix(2);
  const auto authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.find('@') != std::string_view::npos) {
    return wrong("target: has a user name or password; give them as a header in the settings");
  }
  if (authority.empty() || authority.front() == ':') return wrong("target: names no host");
  if (rest.find('#') != std::string_view::npos) {
    return wrong("target: has a fragment (#), which no request carries; leave it out");
  }
  return {};
}

Result<JsonNode> settings_node(const std::string& settings) {
  return delivery::parse_node(
      settings, "settings",
      {.bytes_max = SubscriptionSettings::bytes_max, .depth_max = settings_depth_max});
}

JsonNode* headers_of(JsonNode& settings) {
  if (settings.kind != JsonNode::Kind::object) return nullptr;
  for (auto& member : settings.members) {
    const bool found = member.name == "headers" && member.value.kind == JsonNode::Kind::object;
    if (found) return &member.value;
  }
  return nullptr;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the settings, which are bounded
void append_node(std::string& out, const JsonNode& node) {
  const bool is_object = node.kind == JsonNode::Kind::object;
  switch (node.kind) {
    case JsonNode::Kind::null:
      out += "null";
      return;
    case JsonNode::Kind::boolean:
    case JsonNode::Kind::number:
      out += node.text;
      return;
    case JsonNode::Kind::text:
      append_json_string(out, node.text);
      return;
    case JsonNode::Kind::list:
    case JsonNode::Kind::object:
      break;
  }
  out += is_object ? '{' : '[';
  bool first = true;
  for (const auto& member : node.members) {
    if (!first) out += ',';
    first = false;
    if (is_object) {
      append_json_string(out, member.name);
      out += ':';
    }
    append_node(out, member.value);
  }
  out += is_object ? '}' : ']';
}

}  // namespace

bool is_http_target(std::string_view target) noexcept { return delivery::is_webhook(target); }

Status check_hub_target(std::string_view target) {
  using Bounds = spi::HubBounds;
  if (auto status = check_text("target", target, Bounds::target_length_max); !status.ok()) {
    return status;
  }
  const auto scheme = target.substr(0, target.find(':'));
  if (scheme.size() == target.size() || !is_scheme(scheme)) {
    return wrong("target: has no scheme; give an address like https://host/path");
  }
  if (target.find(' ') != std::string_view::npos) {
    return wrong("target: has a space; write it as %20");
  }
  const auto rest = target.substr(scheme.size() + 1);
  if (rest.empty()) return wrong("target: has nothing behind its scheme");
  return is_http_target(target) ? check_http_target(rest) : Status();
}

Status check_subscription_texts(const SubscriptionRecord& record) {
  using Bounds = spi::HubBounds;
  if (!record.name.empty()) {
    auto status = check_text("name", record.name, Bounds::name_length_max);
    if (!status.ok()) return status;
  }
  if (auto types = delivery::read_types(record.types); !types.ok()) return types.error();
  if (auto status = check_hub_target(record.target); !status.ok()) return status;
  auto settings = delivery::read_settings(record.settings);
  if (!settings.ok()) {
    const bool placed = settings.error().message.starts_with("settings");
    return wrong((placed ? "" : "settings.") + settings.error().message);
  }
  return check_not_masked(record.settings);
}

std::string masked_settings(const std::string& settings) {
  if (settings.empty()) return settings;
  auto node = settings_node(settings);
  if (!node.ok()) return R"({"unreadable":true})";
  auto* const headers = headers_of(*node);
  if (headers == nullptr) return settings;
  for (auto& header : headers->members) {
    header.value = {};
    header.value.kind = JsonNode::Kind::text;
    header.value.text = secret_mask;
  }
  std::string text;
  append_node(text, *node);
  return text;
}

Status check_not_masked(const std::string& settings) {
  if (settings.empty()) return {};
  auto node = settings_node(settings);
  if (!node.ok()) return node.error();
  const auto* const headers = headers_of(*node);
  if (headers == nullptr) return {};
  for (const auto& header : headers->members) {
    if (header.value.text != secret_mask) continue;
    return wrong("settings." + delivery::place_of("headers", header.name) +
                 ": *** only stands for a value that is not shown; give the value itself");
  }
  return {};
}

SubscriptionRecord masked(SubscriptionRecord record) {
  record.target = masked_target(record.target);
  record.settings = masked_settings(record.settings);
  return record;
}

std::string new_webhook_secret(Random& random) {
  std::string bytes;
  while (bytes.size() < webhook_secret_bytes) {
    auto drawn = random.next();
    for (std::size_t i = 0; i < sizeof drawn; ++i, drawn >>= 8U) {
      bytes += static_cast<char>(drawn & 0xffU);
    }
  }
  std::string secret = "whsec_";
  append_base64(bytes, secret);
  return secret;
}

AuditEvent subscription_event(AuditKind kind, const SubscriptionRecord& record,
                              const std::string& actor, std::string_view detail, WallTime at) {
  AuditEvent event;
  event.kind = kind;
  event.at = at;
  event.table = hub_table;
  event.tenant = record.tenant;
  event.topic = record.types.empty() ? std::string() : record.types.front();
  event.message_id = record.id.str();
  event.detail = clean_error(detail, audit_detail_bytes_max);
  event.actor = actor;
  return event;
}

AuditEvent requeue_event(const DeliveryRecord& delivery, const std::string& actor,
                         std::string_view note, WallTime at) {
  AuditEvent event;
  event.kind = AuditKind::hub_delivery_requeued;
  event.at = at;
  event.table = hub_table;
  event.tenant = delivery.tenant;
  event.topic = delivery.type;
  event.message_id = delivery.id.str();
  event.attempt = delivery.attempt;
  if (delivery.code) event.code = code_name(*delivery.code);
  event.detail = clean_error(note, audit_detail_bytes_max);
  event.actor = actor;
  return event;
}

}  // namespace sagabox::admin
