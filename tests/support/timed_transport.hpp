#pragma once

#include <sagabox/spi/transport.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::testing {

/// A transport whose answers take as long as the test says, on the test's clock. Not thread-safe.
class TimedTransport final : public spi::Transport {
 public:
  using Kind = spi::SendResult::Kind;
  struct Reply {
    spi::SendResult result{};
    Duration after = std::chrono::milliseconds(10);
  };
  using Script = std::function<Reply(const spi::Parcel&)>;
  struct Arrival {
    spi::Parcel parcel;
    BootTime at{};
    Kind kind = Kind::delivered;
  };

  explicit TimedTransport(const Clock& clock, std::uint32_t in_flight_max = 16)
      : clock_(clock), in_flight_max_(in_flight_max) {}

  Script script = [](const spi::Parcel&) { return Reply{}; };

  /// Gives the answers that are due, in their order.
  void answer() {
    while (!under_way_.empty() && under_way_.begin()->first <= clock_.boot_now()) {
      auto next = std::move(under_way_.begin()->second);
      under_way_.erase(under_way_.begin());
      log.push_back({next.parcel, clock_.boot_now(), next.result.kind});
      ++answered[{next.parcel.message->topic(), next.result.kind == Kind::delivered}];
      next.results->sent(next.parcel.ticket, std::move(next.result));
    }
  }
  /// `BootTime::max()` if nothing is in flight.
  [[nodiscard]] BootTime next() const {
    return under_way_.empty() ? BootTime::max() : under_way_.begin()->first;
  }

  /// All answers, in order.
  std::vector<Arrival> log;
  /// The number of answers, by topic and by whether the message arrived.
  std::map<std::pair<std::string, bool>, std::size_t> answered;

  [[nodiscard]] spi::TransportTraits traits() const override {
    return {.in_flight_max = in_flight_max_};
  }
  Result<std::shared_ptr<const spi::Address>> address(std::string_view,
                                                      const spi::AddressSettings&) override {
    return std::shared_ptr<const spi::Address>(std::make_shared<Anywhere>());
  }
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override {
    for (const auto& parcel : parcels) {
      auto reply = script(parcel);
      under_way_.emplace(clock_.boot_now() + reply.after,
                         UnderWay{parcel, std::move(reply.result), &results});
    }
  }
  Result<std::vector<std::string>> findings(BootTime) override {
    return std::vector<std::string>{};
  }
  void close(BootTime) override {
    for (auto& [at, one] : std::exchange(under_way_, {})) {
      one.results->sent(one.parcel.ticket, {spi::SendResult::Kind::unreachable, "closed"});
    }
  }

 private:
  struct Anywhere final : spi::Address {};
  struct UnderWay {
    spi::Parcel parcel;
    spi::SendResult result;
    spi::SendResults* results = nullptr;
  };

  const Clock& clock_;
  std::uint32_t in_flight_max_;
  std::multimap<BootTime, UnderWay> under_way_;
};

}  // namespace sagabox::testing
