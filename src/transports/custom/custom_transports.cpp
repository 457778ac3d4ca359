#include "core/masked_url.hpp"
#include "core/text.hpp"

#include <sagabox/transports/custom.hpp>

#include <algorithm>
#include <utility>

namespace sagabox {
namespace {

constexpr std::string_view custom_scheme = "custom:";

struct Forwarded final : spi::Address {
  std::shared_ptr<spi::Transport> transport;
  std::shared_ptr<const spi::Address> address;  ///< the transport's own
};

}  // namespace

Status CustomTransports::add(std::string_view name, std::shared_ptr<spi::Transport> transport) {
  if (name.empty() || name.find('/') != std::string_view::npos ||
      text_facts(name).unprintable_at != std::string_view::npos) {
    return Error{Code::config_invalid,
                 "transport " + quoted(name) + ": give a name of printable characters without /"};
  }
  if (!transport) {
    return Error{Code::tx_invalid_handler, "transport " + quoted(name) + " is none; give one"};
  }
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(named_, name, &Named::name) != named_.end()) {
    return Error{Code::tx_invalid_state,
                 "transport " + quoted(name) + " is there already; one name, one transport"};
  }
  named_.push_back({std::string(name), std::move(transport)});
  return {};
}

std::vector<CustomTransports::Named> CustomTransports::all() const {
  const std::lock_guard lock(mutex_);
  return named_;
}

spi::TransportTraits CustomTransports::traits() const {
  spi::TransportTraits common{.keeps_order = true};
  for (const auto& [name, transport] : all()) {
    const auto its = transport->traits();
    common.keeps_order = common.keeps_order && its.keeps_order;
    common.in_flight_max = std::min(common.in_flight_max, its.in_flight_max);
    common.payload_bytes_max = std::min(common.payload_bytes_max, its.payload_bytes_max);
  }
  return common;
}

Result<std::shared_ptr<const spi::Address>> CustomTransports::address(
    std::string_view text, const spi::AddressSettings& settings) {
  const auto invalid = [&](const std::string& what) {
    return Error{Code::config_invalid, quoted(masked_url(text)) + ": " + what};
  };
  if (!text.starts_with(custom_scheme)) return invalid("is not of this transport; say custom:name");
  const auto rest = text.substr(custom_scheme.size());
  const auto name = rest.substr(0, rest.find('/'));
  std::string known;
  for (const auto& [its_name, transport] : all()) {
    if (its_name == name) {
      auto address = transport->address(text, settings);
      if (!address) return address.error();
      auto forwarded = std::make_shared<Forwarded>();
      forwarded->transport = transport;
      forwarded->address = std::move(address).value();
      return std::shared_ptr<const spi::Address>(std::move(forwarded));
    }
    known += (known.empty() ? "custom:" : ", custom:") + its_name;
  }
  return invalid("no such transport; " + (known.empty()
                                              ? "add one with CustomTransports::add (custom:name)"
                                              : "there are " + known));
}

void CustomTransports::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  const auto transport_of = [](const spi::Parcel& parcel) {
    return static_cast<const Forwarded&>(*parcel.address).transport;
  };
  while (!parcels.empty()) {
    const auto transport = transport_of(parcels.front());
    const auto end = std::ranges::find_if(
        parcels, [&](const auto& parcel) { return transport_of(parcel) != transport; });
    const auto run = parcels.first(static_cast<std::size_t>(end - parcels.begin()));
    for (auto& parcel : run) {
      parcel.address = static_cast<const Forwarded&>(*parcel.address).address;
    }
    transport->send(run, results);
    parcels = parcels.subspan(run.size());
  }
}

Result<std::vector<std::string>> CustomTransports::findings(BootTime deadline) {
  std::vector<std::string> found;
  for (const auto& [name, transport] : all()) {
    auto its = transport->findings(deadline);
    if (!its) return its.error();
    for (auto& finding : *its) found.push_back("custom:" + name + ": " + std::move(finding));
  }
  return found;
}

void CustomTransports::close(BootTime deadline) {
  for (const auto& [name, transport] : all()) transport->close(deadline);
}

}  // namespace sagabox
