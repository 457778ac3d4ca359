#include "core/text.hpp"
#include "transports/crew.hpp"

#include <sagabox/transports/bus.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace sagabox {
namespace {

using spi::SendResult;
using transports::LocalName;

constexpr std::string_view scheme = "bus:";

struct Subscribed {
  Listener listener;
  std::string consumer;  ///< empty if it has no inbox
};

Outcome outcome_of(const Listener& subscriber, const Delivery& delivery) {
  try {
    return subscriber(delivery);
  } catch (const std::exception& thrown) {
    const std::string_view what = thrown.what();
    return retry(what.empty() ? "a subscriber threw an exception without a text"
                              : std::string(what));
  } catch (...) {
    return retry("a subscriber threw something that is not a std::exception");
  }
}

/// The combined result of all subscribers of a message.
class Together {
 public:
  void add(Outcome outcome) {
    if (outcome.kind == Outcome::Kind::done) return;
    errors_ += (failed_ ? "; " : "") + outcome.error;
    failed_ = true;
    blameless_ = blameless_ && outcome.kind == Outcome::Kind::retry && !outcome.spends_attempt;
    delay_ = std::max(delay_, outcome.delay);
  }
  SendResult result() && {
    if (!failed_) return {};
    return {blameless_ ? SendResult::Kind::later : SendResult::Kind::failed, std::move(errors_),
            delay_};
  }

 private:
  bool failed_ = false;
  bool blameless_ = true;  ///< no error so far counts as an attempt
  std::string errors_;
  std::optional<Duration> delay_;
};

}  // namespace

struct Bus::Parts {
  explicit Parts(const BusOptions& options)
      : metrics(options.metrics),
        crew({.clock = *options.clock,
              .threads = options.threads,
              .in_flight_max = options.in_flight_max,
              .call = [this](const LocalName& topic, const Delivery& delivery) {
                return publish(topic.str(), delivery);
              }}) {}

  SendResult publish(const std::string& topic, const Delivery& delivery) {
    std::vector<Subscribed> called;
    {
      const std::lock_guard lock(mutex);
      if (const auto found = subscribers.find(topic); found != subscribers.end()) {
        called = found->second;
      }
    }
    if (called.empty()) {
      auto nobody = failed("nobody has subscribed to " + quoted(topic) +
                           "; call Bus::subscribe before the outbox starts");
      nobody.code = Code::tx_no_subscribers;
      return nobody;
    }
    Together together;
    for (const auto& [subscriber, consumer] : called) {
      // The delivery has timed out and will be repeated.
      if (delivery.stop_token().stop_requested()) return failed("the deadline came before the end");
      together.add(outcome_of(subscriber, delivery));
    }
    return std::move(together).result();
  }

  static SendResult failed(std::string error) {
    return {SendResult::Kind::failed, std::move(error), {}};
  }

  Metrics* const metrics;
  std::mutex mutex;
  std::map<std::string, std::vector<Subscribed>, std::less<>> subscribers;
  transports::Crew crew;
};

Bus::Bus(const BusOptions& options) : parts_(std::make_unique<Parts>(options)) {}
Bus::~Bus() = default;

Status Bus::add(std::string_view topic, Listener subscriber, std::string consumer) {
  if (auto problem = transports::local_name_problem(topic); !problem.empty()) {
    return Error{Code::config_invalid, "topic " + quoted(topic) + " " + problem};
  }
  if (!subscriber) {
    return Error{Code::tx_invalid_handler,
                 "subscriber of " + quoted(topic) + " is empty; give a function"};
  }
  const std::lock_guard lock(parts_->mutex);
  auto& all = parts_->subscribers[std::string(topic)];
  if (!consumer.empty() && std::ranges::find(all, consumer, &Subscribed::consumer) != all.end()) {
    return Error{Code::tx_invalid_state, "a subscriber of " + quoted(topic) + " has the consumer " +
                                             quoted(consumer) +
                                             " already; give this one a name of its own"};
  }
  all.push_back({std::move(subscriber), std::move(consumer)});
  return {};
}

Status Bus::subscribe(std::string_view topic, Subscriber subscriber) {
  if (!subscriber) return add(topic, Listener());
  return add(topic, [told = std::move(subscriber)](const Delivery& delivery) {
    told(delivery);
    return done();
  });
}

Status Bus::subscribe(std::string_view topic, StoreListener subscriber) {
  const auto name = std::string(scheme) + std::string(topic);
  auto consumer = subscriber.consumer.empty() ? name : subscriber.consumer;
  if (!subscriber.once) consumer.clear();
  if (subscriber.metrics == &no_metrics()) subscriber.metrics = parts_->metrics;
  auto listener = listener_of(std::move(subscriber), name);
  if (!listener.ok()) return listener.error();
  return add(topic, std::move(listener).value(), std::move(consumer));
}

spi::TransportTraits Bus::traits() const { return parts_->crew.traits(); }

Result<std::shared_ptr<const spi::Address>> Bus::address(std::string_view text,
                                                         const spi::AddressSettings& settings) {
  auto name = transports::local_name(scheme, text, settings, parts_->crew.threads());
  if (!name) return name.error();
  return std::shared_ptr<const spi::Address>(std::move(name).value());
}

void Bus::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  parts_->crew.send(parcels, results);
}

Result<std::vector<std::string>> Bus::findings(BootTime) { return std::vector<std::string>(); }

void Bus::close(BootTime deadline) { parts_->crew.close(deadline); }

}  // namespace sagabox
