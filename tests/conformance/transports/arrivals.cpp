#include "conformance/transports/arrivals.hpp"

#include <map>
#include <set>
#include <string_view>

namespace sagabox::testing {
namespace {

std::map<std::string_view, std::size_t> counted(const std::vector<Arrived>& arrived) {
  std::map<std::string_view, std::size_t> counts;
  for (const auto& message : arrived) ++counts[message.payload];
  return counts;
}

std::string parcel_name(const spi::Parcel& parcel) {
  return "ticket " + std::to_string(parcel.ticket.value);
}

}  // namespace

std::string lost(std::span<const spi::Parcel> sent, const std::vector<Arrived>& arrived) {
  const auto counts = counted(arrived);
  std::size_t missing = 0;
  std::string first;
  for (const auto& parcel : sent) {
    if (counts.contains(parcel.message->payload().view())) continue;
    if (missing++ == 0) first = parcel_name(parcel);
  }
  if (missing == 0) return {};
  return std::to_string(missing) + " of " + std::to_string(sent.size()) + " are not there, first " +
         first;
}

std::string doubled(std::span<const spi::Parcel> sent, const std::vector<Arrived>& arrived) {
  auto counts = counted(arrived);
  for (const auto& parcel : sent) {
    const auto found = counts.find(parcel.message->payload().view());
    if (found == counts.end()) continue;
    if (found->second > 1) {
      return parcel_name(parcel) + " is there " + std::to_string(found->second) + " times";
    }
    counts.erase(found);
  }
  if (counts.empty()) return {};
  return std::to_string(counts.size()) + " are there that nobody sent";
}

std::string out_of_order(std::span<const spi::Parcel> sent, const std::vector<Arrived>& arrived) {
  struct Place {
    std::string_view key;
    std::size_t number;
  };
  std::map<std::string_view, Place> places;
  for (std::size_t at = 0; at < sent.size(); ++at) {
    const auto& message = *sent[at].message;
    places.emplace(message.payload().view(), Place{message.key(), at});
  }
  std::map<std::string_view, std::size_t> last;
  std::set<std::string_view> seen;
  for (const auto& message : arrived) {
    const auto place = places.find(message.payload);
    if (place == places.end() || !seen.insert(place->first).second) continue;
    const auto [key, number] = place->second;
    const auto [before, first] = last.try_emplace(key, number);
    if (!first && number < before->second) {
      return parcel_name(sent[number]) + " of key " + std::string(key) + " came after " +
             parcel_name(sent[before->second]);
    }
    before->second = number;
  }
  return {};
}

}  // namespace sagabox::testing
