#pragma once

#include "conformance/transports/far_side.hpp"

#include <sagabox/spi/transport.hpp>

#include <span>
#include <string>
#include <vector>

namespace sagabox::testing {

// Messages are told apart by their payloads, which the suite makes different: whatever a protocol
// does to what travels beside them is another test's matter. Empty texts: nothing is wrong.

/// Some of those sent are not among those that arrived.
std::string lost(std::span<const spi::Parcel> sent, const std::vector<Arrived>& arrived);
/// Some arrived that were not sent, or more than once.
std::string doubled(std::span<const spi::Parcel> sent, const std::vector<Arrived>& arrived);
/// The first arrivals of a key are not in the order of sending.
std::string out_of_order(std::span<const spi::Parcel> sent, const std::vector<Arrived>& arrived);

}  // namespace sagabox::testing
