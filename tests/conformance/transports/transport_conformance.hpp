#pragma once

#include "conformance/transports/arrivals.hpp"
#include "conformance/transports/far_side.hpp"
#include "conformance/transports/out_tray.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace sagabox::testing {

using MessagePtr = std::shared_ptr<const Message>;

/// What every transport must do, on its real server. A transport joins with
/// `INSTANTIATE_TEST_SUITE_P(Redis, TransportConformance, …)` in `redis_far_side.cpp`.
/// Whatever a test is about, at its end every parcel must have had exactly one result, in time.
class TransportConformance : public ::testing::TestWithParam<FarSideCase> {
 protected:
  using Kind = spi::SendResult::Kind;
  /// Long enough for a healthy server on a machine that hardly runs, under a sanitizer too.
  static constexpr Duration ample = std::chrono::minutes(2);
  /// For parcels that are expected to reach their deadline.
  static constexpr Duration brief = std::chrono::milliseconds(1500);

  struct Target {
    std::string text;
    std::shared_ptr<const spi::Address> address;
  };

  void SetUp() override;
  void TearDown() override;

  FarSide& far_side() { return *far_side_; }
  spi::Transport& transport() { return *transport_; }
  OutTray& tray() { return tray_; }
  static BootTime in(Duration time) { return system_clock().boot_now() + time; }
  [[nodiscard]] std::size_t in_flight_max() { return transport_->traits().in_flight_max; }
  [[nodiscard]] std::size_t payload_bytes_max();

  Target target(const std::string& text, const spi::AddressSettings& settings = {});
  Target fresh_target() { return target(far_side_->fresh_address()); }

  MessagePtr build(NewMessage draft);
  /// Its payload differs from every other's and has the marker in it.
  MessagePtr numbered(std::string key = {});
  spi::Parcel parcel(MessagePtr message, const Target& to, Duration time = ample);
  /// Numbered messages, `keys` of them in turn: "key-0", "key-1" … None: without a key.
  std::vector<spi::Parcel> parcels(std::size_t count, const Target& to, std::size_t keys = 0,
                                   Duration time = ample);

  /// Hands over; does not wait.
  void send(std::vector<spi::Parcel> all);
  /// Hands over in batches, no more under way than allowed, and waits for all results.
  void send_in_turn(const std::vector<spi::Parcel>& all);
  /// One, and its result.
  spi::SendResult deliver(const MessagePtr& message, const Target& to, Duration time = ample);
  /// After an outage: tries with new parcels until one is delivered. Failures in between must blame
  /// the destination.
  void deliver_at_last(const Target& to);
  /// One that is delivered, so that there is a connection.
  void warm_up(const Target& to);

  /// Delivers it to a target of its own: what arrived there, alone.
  Arrived arrival_of(const MessagePtr& message);
  /// It arrives byte for byte, with its content type.
  void expect_payload_arrives(Payload payload, std::string content_type = {});
  /// What has arrived there; all of `sent` are among it unless the far side has had ample time.
  std::vector<Arrived> arrivals(const std::vector<spi::Parcel>& sent, const Target& at);
  /// All of them are at the target, each once.
  void expect_arrived_once(const std::vector<spi::Parcel>& sent, const Target& at);
  /// No result is of another kind.
  void expect_only(std::initializer_list<Kind> allowed);

  [[nodiscard]] std::string name() const { return GetParam().name; }

 private:
  std::unique_ptr<FarSide> far_side_;
  OutTray tray_;
  std::unique_ptr<spi::Transport> transport_;
  TableName table_ = TableName::parse("orders").value();
  UlidSource ids_{system_clock(), system_random()};
  std::atomic<std::uint64_t> last_ticket_{0};
  std::atomic<std::uint64_t> last_number_{0};
};

std::string case_name(const ::testing::TestParamInfo<FarSideCase>& info);

}  // namespace sagabox::testing
