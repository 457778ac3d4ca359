#pragma once

#include "transports/courier.hpp"

#include <sagabox/transports/mqtt.hpp>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

struct mosquitto;

namespace sagabox::mqtt {

/// MQTT 5 reason codes from here on are failures.
inline constexpr int first_error_reason = 0x80;

struct TopicAddress final : spi::Address {
  std::string topic;
  bool retain = false;
  bool require_subscriber = false;
};

/// The result for the server's answer to a publish.
spi::SendResult reason_meaning(int code, bool require_subscriber);

/// The limits that the server announces when it accepts a connection.
struct ServerLimits {
  std::uint32_t packet_bytes_max = 0;  ///< 0: no limit
  std::uint16_t receive_max = 65'535;
  bool retains = true;
};

/// A libmosquitto client that has logged in, used by one thread. Only `open` blocks.
class Client {
 public:
  static Result<std::unique_ptr<Client>> open(const Options& options, BootTime deadline);
  /// Closes the connection.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] const ServerLimits& limits() const noexcept { return limits_; }
  [[nodiscard]] int fd() const;
  [[nodiscard]] bool wants_write() const;
  /// The number of its answer, or libmosquitto's error code.
  struct Published {
    int code = 0;
    int id = 0;
  };
  Published publish(const spi::Parcel& parcel, const TopicAddress& address);
  /// Reads and writes without blocking, and keeps the connection alive.
  Status turn();
  /// The answers since the last call: number and reason code.
  std::vector<std::pair<int, int>> take_answers() { return std::exchange(answers_, {}); }
  void leave();

 private:
  explicit Client(mosquitto* client) : client_(client) {}
  Status prepare(const Options& options);
  /// libmosquitto's code as text, preceded by the server's reason if it sent one.
  [[nodiscard]] Error trouble(int code) const;

  mosquitto* client_;
  ServerLimits limits_;
  std::vector<std::pair<int, int>> answers_;
  bool connected_ = false;
  int refusal_ = 0;   ///< why it refused the connection
  int farewell_ = 0;  ///< why it closed the connection
  bool cut_ = true;
};

class MqttLink final : public transports::Link {
 public:
  MqttLink(std::unique_ptr<Client> client, BootTime now)
      : client_(std::move(client)), last_turn_(now) {}

  std::optional<spi::SendResult> post(const spi::Parcel& parcel, std::uint64_t number) override;
  [[nodiscard]] bool takes_more() const override {
    return open_.size() < open_max && open_bytes_ < open_bytes_max;
  }
  Status turn(BootTime now, Answers& answers) override;
  [[nodiscard]] int fd() const override { return client_->fd(); }
  [[nodiscard]] bool wants_write() const override { return client_->wants_write(); }
  [[nodiscard]] BootTime turn_by() const override { return last_turn_ + std::chrono::seconds(1); }
  void leave() override { client_->leave(); }

 private:
  /// libmosquitto searches all open messages with every answer.
  static constexpr std::size_t open_max = 100;
  /// libmosquitto keeps a copy of each message until it is answered.
  static constexpr std::size_t open_bytes_max = 4UL * 1024 * 1024;

  struct Open {
    std::uint64_t number = 0;
    std::size_t bytes = 0;
    bool require_subscriber = false;
  };

  std::unique_ptr<Client> client_;
  std::unordered_map<int, Open> open_;
  std::size_t open_bytes_ = 0;
  std::string lost_;
  BootTime last_turn_;
};

}  // namespace sagabox::mqtt
