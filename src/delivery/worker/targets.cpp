#include "delivery/worker/targets.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::delivery {
namespace {

std::string transport_name(std::string_view target) {
  const auto scheme = std::string(target.substr(0, target.find(':')));
  return scheme == "https" ? "http" : scheme;
}

/// All secrets as the transport takes them, the present one first.
Result<std::string> opened_secrets(const SecretBox* box, const SubscriptionId& subscription,
                                   std::span<const spi::SealedSecret> secrets) {
  if (box == nullptr && !secrets.empty()) {
    return Error{Code::config_invalid,
                 "the subscription has secrets, and this process no hub.secret_key"};
  }
  const auto context = secret_context(subscription);
  std::string text;
  for (const auto& secret : secrets) {
    auto opened = box->open(secret.sealed, context);
    if (!opened.ok()) return opened.error();
    if (!text.empty()) text += ' ';
    text += *opened;
  }
  return text;
}

Result<spi::AddressSettings> webhook_settings(const SecretBox* box,
                                              const Subscription& subscription,
                                              std::span<const spi::SealedSecret> secrets) {
  auto keys = opened_secrets(box, subscription.record.id, secrets);
  if (!keys.ok()) return keys.error();
  spi::AddressSettings settings;
  const bool is_binary = subscription.settings.mode == WebhookMode::binary;
  settings.emplace_back("mode", is_binary ? "binary" : "structured");
  if (!keys->empty()) settings.emplace_back("secrets", std::move(keys).value());
  for (const auto& [name, value] : subscription.settings.headers) {
    settings.emplace_back("header." + name, value);
  }
  return settings;
}

bool are_same(const std::vector<std::string>& sealed, std::span<const spi::SealedSecret> secrets) {
  return std::ranges::equal(sealed, secrets, {}, {}, &spi::SealedSecret::sealed);
}

}  // namespace

bool is_webhook(std::string_view target) noexcept {
  return target.starts_with("https:") || target.starts_with("http:");
}

std::string secret_context(const SubscriptionId& subscription) {
  return "subscription " + subscription.str();
}

Result<Target> open_target(const Transports& transports, const SecretBox* box,
                           const Subscription& subscription,
                           std::span<const spi::SealedSecret> secrets) {
  const auto& text = subscription.record.target;
  const auto name = transport_name(text);
  const auto transport = transports.find(name);
  if (transport == transports.end()) {
    return Error{Code::config_invalid, "no transport here takes targets of " + name + ":"};
  }
  spi::AddressSettings settings;
  if (is_webhook(text)) {
    auto given = webhook_settings(box, subscription, secrets);
    if (!given.ok()) return given.error();
    settings = std::move(given).value();
  }
  auto address = transport->second->address(text, settings);
  if (!address.ok()) return address.error();
  return Target{transport->second, std::move(address).value()};
}

Result<Target> Targets::find(const Subscription& subscription,
                             std::span<const spi::SealedSecret> secrets) {
  const auto& record = subscription.record;
  const auto known = opened_.find(record.id);
  if (known != opened_.end() && known->second.change == record.change &&
      are_same(known->second.sealed, secrets)) {
    return known->second.target;
  }
  auto target = open_target(transports_, box_, subscription, secrets);
  if (!target.ok()) return target.error();
  if (opened_.size() >= kept_max) opened_.clear();
  Opened opened{.change = record.change, .target = *target};
  for (const auto& secret : secrets) opened.sealed.push_back(secret.sealed);
  opened_.insert_or_assign(record.id, std::move(opened));
  return target;
}

}  // namespace sagabox::delivery
