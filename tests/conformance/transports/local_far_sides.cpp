#include "conformance/transports/transport_conformance.hpp"
#include "transports/envelope.hpp"

#include <sagabox/transports/bus.hpp>
#include <sagabox/transports/custom.hpp>

#include <condition_variable>
#include <map>
#include <mutex>

namespace sagabox::testing {
namespace {

Arrived seen(const Delivery& delivery) {
  const spi::Parcel parcel{
      .message = std::shared_ptr<const Message>(std::shared_ptr<void>(), &delivery.message()),
      .table = &delivery.table(),
      .sequence = delivery.sequence(),
      .shard = delivery.shard(),
      .epoch = delivery.epoch(),
      .attempt = delivery.attempt()};
  Arrived arrived{.payload = std::string(delivery.payload().view()),
                  .content_type = delivery.message().content_type()};
  const transports::Envelope envelope(parcel);
  for (const auto& [name, value] : envelope.attributes()) {
    arrived.attributes.emplace_back(name, value);
  }
  // A function sees the message itself, and no header can pass for anything else of it.
  for (const auto& [name, value] : delivery.headers()) {
    if (transports::may_travel(name)) arrived.headers.emplace_back(name, value);
  }
  return arrived;
}

/// Functions of this process, and what they were called with.
class LocalSide : public FarSide {
 public:
  std::vector<Arrived> arrived(const std::string& address, std::size_t count) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, OutTray::patience, [&] { return arrived_[address].size() >= count; });
    return arrived_[address];
  }
  bool stall() override {
    const std::lock_guard lock(mutex_);
    stalled_ = true;
    return true;
  }
  void go_on() override {
    const std::lock_guard lock(mutex_);
    stalled_ = false;
    changed_.notify_all();
  }

 protected:
  std::string fresh_name() { return "name-" + std::to_string(++last_); }
  /// Does not look at its stop token.
  void note(const std::string& address, const Delivery& delivery) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !stalled_; });
    arrived_[address].push_back(seen(delivery));
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<Arrived>> arrived_;
  bool stalled_ = false;
  int last_ = 0;
};

/// The bus lives with the transport of a test, which goes before this.
class BusSide : public LocalSide {
 public:
  std::unique_ptr<spi::Transport> open() override {
    auto bus = std::make_unique<Bus>();
    bus_ = bus.get();
    return bus;
  }
  std::string fresh_address() override { return "bus:" + subscribed(); }

 protected:
  std::string subscribed() {
    const auto topic = fresh_name();
    bus_->subscribe(topic, [this, topic](const Delivery& d) { note("bus:" + topic, d); }).value();
    return topic;
  }
  Bus* bus_ = nullptr;
};

class FunctionSide final : public LocalSide {
 public:
  std::unique_ptr<spi::Transport> open() override {
    auto functions = std::make_unique<Functions>();
    functions_ = functions.get();
    functions_->add("refuse", [](const Delivery&) { return reject("never"); }).value();
    return functions;
  }
  std::string fresh_address() override {
    const auto name = fresh_name();
    const auto noting = [this, name](const Delivery& delivery) {
      note("fn:" + name, delivery);
      return done();
    };
    functions_->add(name, noting).value();
    return "fn:" + name;
  }
  std::optional<std::string> refusing_address() override { return "fn:refuse"; }

 private:
  Functions* functions_ = nullptr;
};

/// A transport as a user might write one: speaks to a bus, and takes `custom:mine/topic`.
class Mine final : public spi::Transport {
 public:
  explicit Mine(std::unique_ptr<spi::Transport> bus) : bus_(std::move(bus)) {}
  [[nodiscard]] spi::TransportTraits traits() const override { return bus_->traits(); }
  Result<std::shared_ptr<const spi::Address>> address(
      std::string_view text, const spi::AddressSettings& settings) override {
    const auto invalid = [](const std::string& what) {
      return Error{Code::config_invalid, what + "; say custom:mine/topic"};
    };
    if (!text.starts_with(begin)) return invalid("not mine");
    auto topic = bus_->address("bus:" + std::string(text.substr(begin.size())), settings);
    if (!topic) return invalid(topic.error().message);
    return topic;
  }
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override {
    bus_->send(parcels, results);
  }
  Result<std::vector<std::string>> findings(BootTime deadline) override {
    return bus_->findings(deadline);
  }
  void close(BootTime deadline) override { bus_->close(deadline); }

  static constexpr std::string_view begin = "custom:mine/";

 private:
  std::unique_ptr<spi::Transport> bus_;
};

class CustomSide final : public BusSide {
 public:
  std::unique_ptr<spi::Transport> open() override {
    auto custom = std::make_unique<CustomTransports>();
    custom->add("mine", std::make_shared<Mine>(BusSide::open())).value();
    return custom;
  }
  std::string fresh_address() override { return std::string(Mine::begin) + subscribed(); }
  std::vector<Arrived> arrived(const std::string& address, std::size_t count) override {
    return BusSide::arrived("bus:" + address.substr(Mine::begin.size()), count);
  }
};

template <class Side>
FarSideCase case_of(std::string name) {
  return {std::move(name), [] { return std::make_unique<Side>(); }};
}

INSTANTIATE_TEST_SUITE_P(Local, TransportConformance,
                         ::testing::Values(case_of<BusSide>("Bus"),
                                           case_of<FunctionSide>("Function"),
                                           case_of<CustomSide>("Custom")),
                         case_name);

}  // namespace
}  // namespace sagabox::testing
