#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/random.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sagabox::simulation {

/// One request as it arrives at an endpoint.
struct EndpointCall {
  std::string address;  ///< `sim:NAME`
  DeliveryId delivery;
  std::uint32_t attempt = 0;
};

/// Those that all subscriptions name: they answer as the dice fall, and watch that no two requests
/// of one delivery are under way.
class Endpoints {
 public:
  struct Parts {
    Random& random;
    std::function<BootTime()> now;
    /// Before an answer is planned.
    std::function<void(const EndpointCall&)> arrived;
    std::function<void(std::string)> violated;
  };
  explicit Endpoints(Parts parts) : parts_(std::move(parts)) {}
  /// Whoever has sent gets a result, also where it is there no more.
  ~Endpoints();
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;

  void called(EndpointCall call, const spi::Parcel& parcel, spi::SendResults& results);
  /// Answers what is due.
  void work();
  [[nodiscard]] bool idle() const noexcept { return open_.empty(); }
  /// From now on everything succeeds at once, but what is gone.
  void be_good() { good_ = true; }
  /// From now on this one answers 410.
  void be_gone(const std::string& address) { gone_.insert(address); }
  /// This one cannot be reached, or can again.
  void set_down(const std::string& address, bool down);
  [[nodiscard]] std::uint32_t calls(const DeliveryId& delivery, std::uint32_t attempt) const;

 private:
  struct Open {
    EndpointCall call;
    spi::Ticket ticket{};
    spi::SendResults* results = nullptr;
    BootTime answer_at{};
    spi::SendResult answer{};
  };
  void plan(Open& open, BootTime deadline);

  const Parts parts_;
  std::vector<Open> open_;
  std::map<std::pair<DeliveryId, std::uint32_t>, std::uint32_t> calls_;
  std::set<std::string> gone_;
  std::set<std::string> down_;
  bool good_ = false;
};

/// The way to them from one process.
class EndpointTransport final : public spi::Transport {
 public:
  /// `again`: sends what failed once more by itself.
  EndpointTransport(Endpoints& endpoints, bool again) : endpoints_(endpoints), again_(again) {}

  [[nodiscard]] spi::TransportTraits traits() const override { return {}; }
  Result<std::shared_ptr<const spi::Address>> address(std::string_view text,
                                                      const spi::AddressSettings&) override;
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override;
  Result<std::vector<std::string>> findings(BootTime) override {
    return std::vector<std::string>();
  }
  void close(BootTime) override {}

 private:
  Endpoints& endpoints_;
  const bool again_;
};

}  // namespace sagabox::simulation
