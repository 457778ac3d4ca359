#include "core/text.hpp"
#include "saga/instance.hpp"
#include "saga/routed.hpp"
#include "transports/timed_parcels.hpp"

#include <sagabox/transports/saga.hpp>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

namespace sagabox::saga {
namespace {

using spi::SendResult;
using transports::TimedParcels;

constexpr std::string_view start_scheme = "saga:";
constexpr std::string_view reply_scheme = "saga-reply:";
constexpr std::string_view key_setting = "key";
constexpr std::uint32_t in_flight_max = 1024;
constexpr std::size_t results_max = 500;  // for one statement
constexpr Duration look_min = std::chrono::milliseconds(2);
constexpr Duration look_max = std::chrono::milliseconds(50);
/// How long before its deadline a message gets its result.
constexpr Duration deadline_margin = std::chrono::milliseconds(50);

Error wrong_address(std::string text) { return {Code::config_invalid, std::move(text)}; }

/// `saga:travel`, or `saga-reply:` without a definition.
class RoutedAddress final : public spi::Address {
 public:
  RoutedAddress(std::string definition, RoutedKey key)
      : definition_(std::move(definition)), key_(key) {}
  [[nodiscard]] bool starts() const noexcept { return !definition_.empty(); }
  [[nodiscard]] const std::string& definition() const noexcept { return definition_; }
  [[nodiscard]] RoutedKey key() const noexcept { return key_; }

 private:
  std::string definition_;
  RoutedKey key_;
};

Result<RoutedKey> key_from(const spi::AddressSettings& settings) {
  auto key = RoutedKey::message_id;
  for (const auto& [name, value] : settings) {
    if (name != key_setting) {
      return wrong_address("unknown setting " + quoted(name) + "; a saga: address has key");
    }
    if (value != "id" && value != "message") {
      return wrong_address("setting key: " + quoted(value) + "; write id or message");
    }
    key = value == "id" ? RoutedKey::message_id : RoutedKey::message_key;
  }
  return key;
}

std::shared_ptr<const spi::Address> made(std::string definition, RoutedKey key) {
  return std::make_shared<const RoutedAddress>(std::move(definition), key);
}

/// A message whose command is to be written, or is in the inbox.
struct Handed {
  TimedParcels::ItemPtr item;
  SagaCommand command;
  BootTime until{};  ///< how long to wait for the owner's answer
};

/// Writes commands of many messages in one transaction, and reads their results.
class SagaTransport final : public spi::Transport {
 public:
  explicit SagaTransport(TransportOptions options)
      : options_(std::move(options)),
        ids_(*options_.clock, *options_.random),
        parcels_({.clock = *options_.clock,
                  .items_max = in_flight_max,
                  .timed_out_error = "not written to the saga inbox by the deadline"}),
        thread_([this] { run(); }) {}
  ~SagaTransport() override {
    close(options_.clock->boot_now());
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  SagaTransport(const SagaTransport&) = delete;
  SagaTransport& operator=(const SagaTransport&) = delete;

  [[nodiscard]] spi::TransportTraits traits() const override {
    return {.in_flight_max = in_flight_max, .payload_bytes_max = input_bytes_max};
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

  [[nodiscard]] Status check_definition(const std::string& name) const;
  void run();
  /// Null when the transport is closed.
  std::optional<Items> next_items();
  void hand_over(const Items& items);
  void write(std::span<Handed> messages);
  Status append(std::span<const Handed> messages);
  void look();
  void judge(std::span<Handed> messages);
  void answer(const Handed& message, const SagaCommandResult& result);
  [[nodiscard]] Result<SagaCommand> command_of(const spi::Parcel& parcel);

  const TransportOptions options_;
  UlidSource ids_;
  TimedParcels parcels_;
  std::mutex mutex_;  // guards the three members below
  std::condition_variable changed_;
  std::deque<TimedParcels::ItemPtr> queue_;
  bool ended_ = false;

  // Used by the thread only.
  std::vector<Handed> stored_;
  Duration look_wait_ = look_min;
  std::thread thread_;
};

Status SagaTransport::check_definition(const std::string& name) const {
  const auto& known = options_.definitions;
  if (known.empty() || std::ranges::find(known, name) != known.end()) return {};
  std::string list;
  for (const auto& one : known) list += (list.empty() ? "" : ", ") + one;
  return wrong_address("there is no saga definition " + quoted(name) + "; there are " + list);
}

Result<std::shared_ptr<const spi::Address>> SagaTransport::address(
    std::string_view text, const spi::AddressSettings& settings) {
  if (text.starts_with(reply_scheme)) {
    if (text != reply_scheme) {
      return wrong_address(quoted(text) +
                           ": nothing follows saga-reply:; the token of the message "
                           "says whose reply it is");
    }
    if (options_.reply_secret.empty()) {
      return wrong_address("saga-reply: needs the secret of the reply tokens (reply_secret)");
    }
    if (!settings.empty()) {
      return wrong_address("unknown setting " + quoted(settings.front().first) +
                           "; saga-reply: has none");
    }
    return made(std::string(), RoutedKey::message_id);
  }
  if (!text.starts_with(start_scheme) || text.size() == start_scheme.size()) {
    return wrong_address(quoted(text) + ": write it as saga:definition, or saga-reply:");
  }
  std::string definition(text.substr(start_scheme.size()));
  if (auto known = check_definition(definition); !known.ok()) return known.error();
  auto key = key_from(settings);
  if (!key.ok()) return key.error();
  return made(std::move(definition), *key);
}

void SagaTransport::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  auto taken = parcels_.take(parcels, results);
  if (taken.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (auto& item : taken) queue_.push_back(std::move(item));
  }
  changed_.notify_all();
}

void SagaTransport::run() {
  while (auto items = next_items()) {
    try {
      hand_over(*items);
      look();
    } catch (const std::exception& thrown) {
      options_.log->log(LogLevel::error, "messages for sagas were not handed over",
                        {{"error", std::string_view(thrown.what())}});
      for (const auto& item : *items) {
        (void)parcels_.answer(*item, {.kind = SendResult::Kind::failed, .error = thrown.what()});
      }
    }
  }
}

std::optional<SagaTransport::Items> SagaTransport::next_items() {
  std::unique_lock lock(mutex_);
  const auto something = [this] { return ended_ || !queue_.empty(); };
  if (stored_.empty()) {
    changed_.wait(lock, something);
  } else {
    changed_.wait_for(lock, look_wait_, something);
  }
  if (ended_) return std::nullopt;
  Items items;
  while (!queue_.empty() && items.size() < options_.batch_max) {
    items.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return items;
}

Result<SagaCommand> SagaTransport::command_of(const spi::Parcel& parcel) {
  const auto& address = static_cast<const RoutedAddress&>(*parcel.address);
  if (address.starts()) {
    return routed_start(*parcel.message, address.definition(), address.key(), ids_);
  }
  return routed_reply(*parcel.message, *parcel.table,
                      {options_.reply_secret, options_.reply_secret_before},
                      options_.clock->wall_now());
}

void SagaTransport::hand_over(const Items& items) {
  std::vector<Handed> messages;
  for (const auto& item : items) {
    if (!parcels_.begin(*item)) continue;
    auto command = command_of(item->parcel());
    if (!command.ok()) {
      (void)parcels_.answer(*item, routed_failure(command.error()));
      continue;
    }
    messages.push_back({.item = item, .command = *std::move(command)});
  }
  if (!messages.empty()) write(messages);
}

Status SagaTransport::append(std::span<const Handed> messages) {
  if (options_.store == nullptr) return Error{Code::storage_unavailable, "there is no store"};
  std::vector<SagaCommand> commands;
  commands.reserve(messages.size());
  for (const auto& message : messages) commands.push_back(message.command);
  return options_.store->transaction(
      [&](OwnedTransaction& tx) -> Status { return tx.sagas().append(commands); });
}

void SagaTransport::write(std::span<Handed> messages) {
  const auto written = append(messages);
  const auto failure = written.ok() ? SendResult{} : routed_failure(written.error());
  using Kind = SendResult::Kind;
  if (failure.kind == Kind::delivered) {
    const auto until = options_.clock->boot_now() + options_.answer_wait;
    std::set<std::string_view> definitions;
    for (const auto& message : messages) definitions.insert(message.command.definition);
    for (const auto& name : definitions) options_.store->sagas()->wake(name);
    for (auto& message : messages) {
      message.until = std::min(until, message.item->parcel().deadline - deadline_margin);
      stored_.push_back(std::move(message));
    }
    look_wait_ = look_min;
    return;
  }
  // A message that the store refuses must not delay the others.
  const bool is_its_own = failure.kind == Kind::rejected || failure.kind == Kind::failed;
  if (is_its_own && messages.size() > 1) {
    for (auto& message : messages) write(std::span(&message, 1));
    return;
  }
  for (const auto& message : messages) (void)parcels_.answer(*message.item, failure);
}

void SagaTransport::look() {
  std::erase_if(stored_, [](const Handed& message) { return message.item->answered(); });
  if (stored_.empty()) return;
  const auto before = stored_.size();
  for (std::size_t from = 0; from < stored_.size(); from += results_max) {
    const auto count = std::min(results_max, stored_.size() - from);
    judge(std::span(stored_).subspan(from, count));
  }
  std::erase_if(stored_, [](const Handed& message) { return message.item->answered(); });
  look_wait_ = stored_.size() < before ? look_min : std::min(look_wait_ * 2, look_max);
}

void SagaTransport::judge(std::span<Handed> messages) {
  std::vector<CommandId> ids;
  ids.reserve(messages.size());
  for (const auto& message : messages) ids.push_back(message.command.id);
  const auto results = options_.store->sagas()->results(ids);
  const auto now = options_.clock->boot_now();
  for (const auto& message : messages) {
    if (results.ok()) {
      const auto found = std::ranges::find(*results, message.command.id, &SagaCommandResult::id);
      if (found != results->end()) {
        answer(message, *found);
        continue;
      }
    }
    // The command is in the inbox, which is as durable as its outbox.
    if (message.until <= now) (void)parcels_.answer(*message.item, {});
  }
}

void SagaTransport::answer(const Handed& message, const SagaCommandResult& result) {
  if (!result.applied) {
    options_.log->log(LogLevel::warning, "a saga refused a message",
                      {{"saga", message.command.saga.view()},
                       {"command", saga_command_name(message.command.kind)},
                       {"message", message.item->parcel().message->id().view()},
                       {"reason", std::string_view(result.reason)}});
  }
  (void)parcels_.answer(*message.item, routed_result(message.command.kind, result));
}

}  // namespace

Result<std::unique_ptr<spi::Transport>> open(TransportOptions options) {
  const auto wrong = [](std::string text) { return Error{Code::config_invalid, std::move(text)}; };
  if (options.batch_max == 0) return wrong("batch_max is 0; a batch has at least one message");
  if (options.answer_wait < Duration{}) return wrong("answer_wait must not be negative");
  if (options.store != nullptr) {
    auto* const sagas = options.store->sagas();
    if (sagas == nullptr) return wrong(options.store->name() + " has no sagas");
    if (auto prepared = sagas->prepare(); !prepared.ok()) return prepared.error();
  }
  return std::unique_ptr<spi::Transport>(std::make_unique<SagaTransport>(std::move(options)));
}

}  // namespace sagabox::saga
