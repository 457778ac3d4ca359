#include "core/masked_url.hpp"
#include "core/text.hpp"
#include "transports/crew.hpp"

#include <sagabox/transports/custom.hpp>

#include <map>
#include <mutex>
#include <utility>

namespace sagabox {
namespace {

using spi::SendResult;
using transports::LocalName;
using Kind = SendResult::Kind;

constexpr std::string_view function_scheme = "fn:";

SendResult result_of(Outcome outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::done:
      return {};
    case Outcome::Kind::reject:
      return {Kind::rejected, std::move(outcome.error), {}};
    case Outcome::Kind::retry:
      return {outcome.spends_attempt ? Kind::failed : Kind::later, std::move(outcome.error),
              outcome.delay};
  }
  return {Kind::failed, "an outcome of no known kind", {}};
}

}  // namespace

struct Functions::Parts {
  explicit Parts(const FunctionsOptions& options)
      : metrics(options.metrics),
        crew({.clock = *options.clock,
              .threads = options.threads,
              .in_flight_max = options.in_flight_max,
              .call = [this](const LocalName& name, const Delivery& delivery) {
                return result_of(function(name.str())(delivery));
              }}) {}

  /// The function exists: addresses are only made for existing ones, and none is ever removed.
  const Listener& function(const std::string& name) {
    const std::lock_guard lock(mutex);
    return functions.at(name);
  }

  Metrics* const metrics;
  std::mutex mutex;
  std::map<std::string, Listener, std::less<>> functions;
  transports::Crew crew;
};

Functions::Functions(const FunctionsOptions& options) : parts_(std::make_unique<Parts>(options)) {}
Functions::~Functions() = default;

Status Functions::add(std::string_view name, Listener function) {
  if (auto problem = transports::local_name_problem(name); !problem.empty()) {
    return Error{Code::config_invalid, "function " + quoted(name) + " " + problem};
  }
  if (!function) {
    return Error{Code::tx_invalid_handler, "function " + quoted(name) + " is empty; give one"};
  }
  const std::lock_guard lock(parts_->mutex);
  if (!parts_->functions.emplace(name, std::move(function)).second) {
    return Error{Code::tx_invalid_state,
                 "function " + quoted(name) + " is there already; one name, one function"};
  }
  return {};
}

Status Functions::add(std::string_view name, StoreListener function) {
  if (function.metrics == &no_metrics()) function.metrics = parts_->metrics;
  auto listener =
      listener_of(std::move(function), std::string(function_scheme) + std::string(name));
  if (!listener.ok()) return listener.error();
  return add(name, std::move(listener).value());
}

spi::TransportTraits Functions::traits() const { return parts_->crew.traits(); }

Result<std::shared_ptr<const spi::Address>> Functions::address(
    std::string_view text, const spi::AddressSettings& settings) {
  auto name = transports::local_name(function_scheme, text, settings, parts_->crew.threads());
  if (!name) return name.error();
  const std::lock_guard lock(parts_->mutex);
  if (!parts_->functions.contains((*name)->str())) {
    std::string known;
    for (const auto& [other, function] : parts_->functions) {
      known += (known.empty() ? "fn:" : ", fn:") + other;
    }
    return Error{Code::config_invalid,
                 quoted(masked_url(text)) + ": no such function; " +
                     (known.empty() ? "add one with Functions::add first" : "there are " + known)};
  }
  return std::shared_ptr<const spi::Address>(std::move(name).value());
}

void Functions::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  parts_->crew.send(parcels, results);
}

Result<std::vector<std::string>> Functions::findings(BootTime) {
  return std::vector<std::string>();
}

void Functions::close(BootTime deadline) { parts_->crew.close(deadline); }

}  // namespace sagabox
