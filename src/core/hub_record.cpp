#include <sagabox/hub_record.hpp>
#include <sagabox/payload.hpp>

#include <algorithm>
#include <array>

namespace sagabox {
namespace {

constexpr std::array<std::string_view, subscription_state_count> subscription_states{
    "unverified", "active", "paused", "disabled"};
constexpr std::array<std::string_view, delivery_state_count> delivery_states{
    "pending", "waiting", "in_progress", "completed", "dead"};
constexpr std::array<std::string_view, hub_job_state_count> job_states{"pending", "leased",
                                                                       "completed", "failed"};

template <class State, std::size_t count>
std::optional<State> state_of(const std::array<std::string_view, count>& names,
                              std::string_view name) noexcept {
  const auto* const found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<State>(found - names.begin());
}

}  // namespace

DeliveryId delivery_id_of(const EventId& event, const SubscriptionId& subscription,
                          std::uint32_t generation) {
  constexpr std::size_t digits = 32;
  // Ids contain no spaces, so different arguments never give the same text.
  const auto text = event.str() + ' ' + subscription.str() + ' ' + std::to_string(generation);
  return DeliveryId::parse("d" + hex(sha256(text)).substr(0, digits)).value();
}

std::string_view subscription_state_name(SubscriptionState state) noexcept {
  return subscription_states[static_cast<std::size_t>(state)];
}

std::optional<SubscriptionState> subscription_state_from_name(std::string_view name) noexcept {
  return state_of<SubscriptionState>(subscription_states, name);
}

std::string_view delivery_state_name(DeliveryState state) noexcept {
  return delivery_states[static_cast<std::size_t>(state)];
}

std::optional<DeliveryState> delivery_state_from_name(std::string_view name) noexcept {
  return state_of<DeliveryState>(delivery_states, name);
}

std::string_view hub_job_state_name(HubJobState state) noexcept {
  return job_states[static_cast<std::size_t>(state)];
}

std::optional<HubJobState> hub_job_state_from_name(std::string_view name) noexcept {
  return state_of<HubJobState>(job_states, name);
}

}  // namespace sagabox
