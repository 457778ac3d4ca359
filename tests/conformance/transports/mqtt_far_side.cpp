#include "conformance/transports/far_side.hpp"
#include "conformance/transports/transport_conformance.hpp"
#include "support/mosquitto_server.hpp"
#include "support/mqtt_client.hpp"

#include <sagabox/transports/mqtt.hpp>

#include <memory>

namespace sagabox::testing {
namespace {

class MqttFarSide final : public FarSide {
 public:
  MqttFarSide() {
    if (!server_.problem().empty()) return;
    subscriber_ = std::make_unique<MqttClient>(server_.port(), "suite/#");
    EXPECT_TRUE(subscriber_->wait_for_subscription());
  }

  [[nodiscard]] std::string problem() const override { return server_.problem(); }

  std::unique_ptr<spi::Transport> open() override {
    return mqtt::open(
               {.port = server_.port(), .connect_max = connect_max, .keep_alive = keep_alive})
        .value();
  }

  std::string fresh_address() override { return "mqtt:suite/" + std::to_string(++addresses_); }

  std::vector<Arrived> arrived(const std::string& address, std::size_t count) override {
    constexpr std::string_view header_prefix = "header:";
    std::vector<Arrived> all;
    for (auto& got : subscriber_->wait_for(address.substr(address.find(':') + 1), count)) {
      auto& one = all.emplace_back();
      one.payload = std::move(got.payload);
      one.content_type = std::move(got.content_type);
      for (auto& [name, value] : got.properties) {
        if (name.starts_with(header_prefix)) {
          one.headers.emplace_back(name.substr(header_prefix.size()), std::move(value));
        } else {
          one.attributes.emplace_back(std::move(name), std::move(value));
        }
      }
    }
    return all;
  }

  std::optional<std::string> refusing_address() override { return "mqtt:refused/here"; }

  bool stop() override {
    server_.stop();
    EXPECT_TRUE(subscriber_->wait_for_loss());
    return true;
  }
  void start() override {
    server_.start();
    // Mosquitto 2.0.11 keeps nothing for a subscriber that has not come back since it started.
    EXPECT_TRUE(subscriber_->wait_for_subscription());
  }
  bool stall() override {
    server_.stall();
    return true;
  }
  void go_on() override { server_.go_on(); }

 private:
  MosquittoServer server_;
  std::unique_ptr<MqttClient> subscriber_;
  int addresses_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Mqtt, TransportConformance,
                         ::testing::Values(FarSideCase{
                             "Mqtt", [] { return std::make_unique<MqttFarSide>(); }}),
                         case_name);

}  // namespace
}  // namespace sagabox::testing
