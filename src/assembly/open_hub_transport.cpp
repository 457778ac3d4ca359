#include "core/text.hpp"
#include "delivery/hub_log.hpp"
#include "saga/routed.hpp"
#include "spi/hub_rules.hpp"
#include "transports/timed_parcels.hpp"

#include <sagabox/transports/hub.hpp>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox::hub {
namespace {

using spi::SendResult;
using transports::TimedParcels;

constexpr std::string_view scheme = "hub:";
constexpr std::string_view source_setting = "source";
constexpr std::size_t source_length_max = 255;
constexpr std::uint32_t events_in_flight_max = 1024;

Error wrong_address(std::string text) { return {Code::config_invalid, std::move(text)}; }

class HubAddress final : public spi::Address {
 public:
  explicit HubAddress(std::string source) : source_(std::move(source)) {}
  /// Empty: the name of the outbox.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

 private:
  std::string source_;
};

/// A message to be published as an event.
struct ToPublish {
  TimedParcels::ItemPtr item;
  HubEvent event;
};

/// Publishes many messages in one transaction.
class HubTransport final : public spi::Transport {
 public:
  explicit HubTransport(TransportOptions options)
      : options_(std::move(options)),
        ids_(*options_.clock, *options_.random),
        parcels_({.clock = *options_.clock,
                  .items_max = events_in_flight_max,
                  .timed_out_error = "not published to the hub by the deadline"}),
        thread_([this] { run(); }) {}
  ~HubTransport() override {
    close(options_.clock->boot_now());
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  HubTransport(const HubTransport&) = delete;
  HubTransport& operator=(const HubTransport&) = delete;

  [[nodiscard]] spi::TransportTraits traits() const override {
    return {.in_flight_max = events_in_flight_max};
  }
  Result<std::shared_ptr<const spi::Address>> address(
      std::string_view text, const spi::AddressSettings& settings) override;
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override;
  Result<std::vector<std::string>> findings(BootTime) override {
    return std::vector<std::string>();
  }
  void close(BootTime deadline) override { parcels_.close(deadline); }

 private:
  using Items = std::vector<TimedParcels::ItemPtr>;

  void run();
  /// Null when the transport is closed.
  std::optional<Items> next_items();
  void hand_over(const Items& items);
  [[nodiscard]] HubEvent event_of(const spi::Parcel& parcel);
  void write(std::span<const ToPublish> messages);
  Status publish(std::span<const ToPublish> messages);

  const TransportOptions options_;
  UlidSource ids_;
  TimedParcels parcels_;
  std::mutex mutex_;  // guards the three members below
  std::condition_variable changed_;
  std::deque<TimedParcels::ItemPtr> queue_;
  bool ended_ = false;
  std::thread thread_;
};

Result<std::shared_ptr<const spi::Address>> HubTransport::address(
    std::string_view text, const spi::AddressSettings& settings) {
  if (text != scheme) {
    return wrong_address(quoted(text) +
                         ": nothing follows hub:; subscriptions say where events go");
  }
  std::string source;
  for (const auto& [name, value] : settings) {
    if (name != source_setting) {
      return wrong_address("unknown setting " + quoted(name) + "; hub: has source");
    }
    if (value.empty() || value.size() > source_length_max) {
      return wrong_address("setting source: give 1 to " + std::to_string(source_length_max) +
                           " bytes");
    }
    if (value == spi::own_source) {
      return wrong_address("setting source: \"hub\" is the hub itself; name who publishes");
    }
    source = value;
  }
  return std::shared_ptr<const spi::Address>(std::make_shared<const HubAddress>(std::move(source)));
}

void HubTransport::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  auto taken = parcels_.take(parcels, results);
  if (taken.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (auto& item : taken) queue_.push_back(std::move(item));
  }
  changed_.notify_all();
}

void HubTransport::run() {
  while (auto items = next_items()) {
    try {
      hand_over(*items);
    } catch (const std::exception& thrown) {
      options_.log->log(LogLevel::error, "messages for the hub were not published",
                        {{"error", std::string_view(thrown.what())}});
      for (const auto& item : *items) {
        (void)parcels_.answer(*item, {.kind = SendResult::Kind::failed, .error = thrown.what()});
      }
    }
  }
}

std::optional<HubTransport::Items> HubTransport::next_items() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || !queue_.empty(); });
  if (ended_) return std::nullopt;
  Items items;
  while (!queue_.empty() && items.size() < options_.batch_max) {
    items.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return items;
}

HubEvent HubTransport::event_of(const spi::Parcel& parcel) {
  const auto& address = static_cast<const HubAddress&>(*parcel.address);
  const auto& message = *parcel.message;
  HubEvent event{.id = ids_.next<EventId>(), .message = nullptr};
  event.source = address.source().empty() ? "outbox/" + parcel.table->str() : address.source();
  event.external_id = message.id().str();
  NewMessage fields{.topic = message.topic(),
                    .key = message.key(),
                    .payload = message.payload(),
                    .tenant = message.tenant(),
                    .aggregate_type = message.aggregate_type(),
                    .aggregate_id = message.aggregate_id(),
                    .priority = message.priority(),
                    .content_type = message.content_type(),
                    .headers = message.headers(),
                    .occurred_at = message.occurred_at(),
                    .trace = message.trace()};
  event.message = std::make_shared<const Message>(
      Message::restore({.id = MessageId::parse(event.id.view()).value(),
                        .fields = std::move(fields),
                        .digest = message.digest()}));
  return event;
}

void HubTransport::hand_over(const Items& items) {
  std::vector<ToPublish> messages;
  for (const auto& item : items) {
    if (!parcels_.begin(*item)) continue;
    auto event = event_of(item->parcel());
    auto fits = spi::check_foreign(event);
    if (fits.ok()) fits = options_.event_types.check(event);
    if (!fits.ok()) {
      (void)parcels_.answer(*item, {.kind = SendResult::Kind::rejected,
                                    .error = fits.error().message,
                                    .code = fits.error().code});
      continue;
    }
    messages.push_back({item, std::move(event)});
  }
  if (!messages.empty()) write(messages);
}

Status HubTransport::publish(std::span<const ToPublish> messages) {
  if (options_.store == nullptr) return Error{Code::storage_unavailable, "there is no store"};
  std::vector<HubEvent> events;
  events.reserve(messages.size());
  for (const auto& message : messages) events.push_back(message.event);
  const auto published = options_.store->transaction(
      [&](OwnedTransaction& tx) { return tx.events().publish(events); });
  if (!published.ok()) return published.error();
  options_.store->hub()->events.wake();
  delivery::log_published(*options_.log, events, *published);
  return {};
}

void HubTransport::write(std::span<const ToPublish> messages) {
  const auto written = publish(messages);
  // Another event has this id: a further attempt cannot succeed.
  const bool differs = !written.ok() && written.error().code == Code::tx_idempotent_mismatch;
  auto result = written.ok() ? SendResult{} : saga::routed_failure(written.error());
  if (differs) result.kind = SendResult::Kind::rejected;
  // A message that the store refuses must not delay the others.
  const bool is_its_own =
      result.kind == SendResult::Kind::rejected || result.kind == SendResult::Kind::failed;
  if (is_its_own && messages.size() > 1) {
    for (std::size_t at = 0; at < messages.size(); ++at) write(messages.subspan(at, 1));
    return;
  }
  for (const auto& message : messages) (void)parcels_.answer(*message.item, result);
}

}  // namespace

Result<std::unique_ptr<spi::Transport>> open(TransportOptions options) {
  if (options.batch_max == 0) {
    return Error{Code::config_invalid, "batch_max is 0; a batch has at least one message"};
  }
  if (options.store != nullptr) {
    const auto hub = options.store->hub();
    if (!hub) {
      return Error{Code::config_invalid, options.store->name() + " has no delivery hub"};
    }
    if (auto prepared = hub->events.prepare(); !prepared.ok()) return prepared.error();
  }
  return std::unique_ptr<spi::Transport>(std::make_unique<HubTransport>(std::move(options)));
}

}  // namespace sagabox::hub
