#pragma once

#include "delivery/secret_box.hpp"
#include "delivery/subscription.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/subscription_store.hpp>
#include <sagabox/spi/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sagabox::delivery {

/// By scheme; "http" serves http:// and https://.
using Transports = std::map<std::string, std::shared_ptr<spi::Transport>, std::less<>>;

/// Whether requests to it are webhooks: signed, with the subscription's headers and mode, and after
/// a proof that the endpoint wants them.
bool is_webhook(std::string_view target) noexcept;

/// What the secrets of a subscription are sealed in, so that none can stand in for another's.
std::string secret_context(const SubscriptionId& subscription);

/// Where the requests of a subscription go.
struct Target {
  std::shared_ptr<spi::Transport> transport;
  std::shared_ptr<const spi::Address> address;
};

/// The address of a subscription, with what it signs with. CONFIG.INVALID or AUTH.DENIED: no
/// transport takes it, or a secret cannot be opened (`box` may be null); no secret is in the text.
Result<Target> open_target(const Transports& transports, const SecretBox* box,
                           const Subscription& subscription,
                           std::span<const spi::SealedSecret> secrets);

/// The targets of many subscriptions, opened when first needed and again when the subscription or
/// its secrets have changed. Not thread-safe.
class Targets {
 public:
  static constexpr std::size_t kept_max = 10'000;

  /// Both outlive it.
  Targets(const Transports& transports, const SecretBox* box)
      : transports_(transports), box_(box) {}

  Result<Target> find(const Subscription& subscription, std::span<const spi::SealedSecret> secrets);
  /// The numbers of changes may stand for others from now on: all are opened again.
  void forget() noexcept { opened_.clear(); }

 private:
  struct Opened {
    std::uint64_t change = 0;
    std::vector<std::string> sealed{};
    Target target{};
  };

  const Transports& transports_;
  const SecretBox* const box_;
  std::unordered_map<SubscriptionId, Opened> opened_;
};

}  // namespace sagabox::delivery
