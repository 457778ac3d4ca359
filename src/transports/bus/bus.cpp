#include "core/text.hpp"
#include "transports/crew.hpp"

#include <sagabox/transports/bus.hpp>

#include <exception>
#include <map>
#include <mutex>
#include <utility>

namespace sagabox {
namespace {

using spi::SendResult;
using transports::LocalName;

constexpr std::string_view scheme = "bus:";

/// Empty: it did not throw.
std::string error_of(const Subscriber& subscriber, const Delivery& delivery) {
  try {
    subscriber(delivery);
    return {};
  } catch (const std::exception& thrown) {
    const std::string_view what = thrown.what();
    return what.empty() ? "a subscriber threw an exception without a text" : std::string(what);
  } catch (...) {
    return "a subscriber threw something that is not a std::exception";
  }
}

}  // namespace

struct Bus::Parts {
  explicit Parts(const BusOptions& options)
      : crew({.clock = *options.clock,
              .threads = options.threads,
              .in_flight_max = options.in_flight_max,
              .call = [this](const LocalName& topic, const Delivery& delivery) {
                return publish(topic.str(), delivery);
              }}) {}

  SendResult publish(const std::string& topic, const Delivery& delivery) {
    std::vector<Subscriber> called;
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
    std::string errors;
    for (const auto& subscriber : called) {
      // It has timed out and will be published again.
      if (delivery.stop_token().stop_requested()) return failed("the deadline came before the end");
      const auto error = error_of(subscriber, delivery);
      if (error.empty()) continue;
      errors += (errors.empty() ? "" : "; ") + error;
    }
    return errors.empty() ? SendResult{} : failed(std::move(errors));
  }

  static SendResult failed(std::string error) {
    return {SendResult::Kind::failed, std::move(error), {}};
  }

  std::mutex mutex;
  std::map<std::string, std::vector<Subscriber>, std::less<>> subscribers;
  transports::Crew crew;
};

Bus::Bus(const BusOptions& options) : parts_(std::make_unique<Parts>(options)) {}
Bus::~Bus() = default;

Status Bus::subscribe(std::string_view topic, Subscriber subscriber) {
  if (auto problem = transports::local_name_problem(topic); !problem.empty()) {
    return Error{Code::config_invalid, "topic " + quoted(topic) + " " + problem};
  }
  if (!subscriber) {
    return Error{Code::tx_invalid_handler,
                 "subscriber of " + quoted(topic) + " is empty; give a function"};
  }
  const std::lock_guard lock(parts_->mutex);
  parts_->subscribers[std::string(topic)].push_back(std::move(subscriber));
  return {};
}

spi::TransportTraits Bus::traits() const { return parts_->crew.traits(); }

Result<std::shared_ptr<const spi::Address>> Bus::address(std::string_view text,
                                                         const spi::AddressSettings& settings) {
  auto name = transports::local_name(scheme, text, settings);
  if (!name) return name.error();
  return std::shared_ptr<const spi::Address>(std::move(name).value());
}

void Bus::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  parts_->crew.send(parcels, results);
}

Result<std::vector<std::string>> Bus::findings(BootTime) { return std::vector<std::string>(); }

void Bus::close(BootTime deadline) { parts_->crew.close(deadline); }

}  // namespace sagabox
