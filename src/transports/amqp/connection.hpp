#pragma once

#include "transports/amqp/frames.hpp"
#include "transports/stream.hpp"

#include <sagabox/transports/amqp.hpp>

#include <array>
#include <memory>
#include <string>

namespace sagabox::amqp {

/// "404 NOT_FOUND - no exchange 'x' in vhost '/'"
std::string closing_text(std::uint16_t code, std::string_view text);

/// A connection that has logged in, with the virtual host open. librabbitmq only decodes the bytes;
/// it does not read or write the socket, because its write waits for the server without a limit.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const Options& options, BootTime deadline);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] transports::Stream& stream() noexcept { return *stream_; }
  [[nodiscard]] std::uint32_t frame_max() const noexcept { return frame_max_; }
  [[nodiscard]] std::uint16_t channel_max() const noexcept { return channel_max_; }
  [[nodiscard]] std::chrono::seconds heartbeat() const noexcept { return heartbeat_; }

  /// Checks that an exchange exists, or a queue where the default exchange is meant. Returns an
  /// empty text, or the server's error. `channel` must not have been used before.
  Result<std::string> look_for(const RoutingAddress& address, amqp_channel_t channel,
                               BootTime deadline, const Clock& clock);

  /// Reads what has arrived; returns whether there was anything.
  Result<bool> receive();
  /// The next complete frame; its type is 0 if there is none. Valid until the next call.
  Result<amqp_frame_t> next_frame();

 private:
  explicit Connection(std::unique_ptr<transports::Stream> stream);
  Status shake_hands(const Options& options, BootTime deadline);
  /// Waits for a method, or another one that may arrive instead; any other method is an error.
  Result<amqp_method_t> expect(amqp_method_number_t id, BootTime deadline, const Clock& clock,
                               amqp_method_number_t instead = 0);

  std::unique_ptr<transports::Stream> stream_;
  amqp_connection_state_t state_;
  std::array<char, 64UL * 1024> in_;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
  amqp_channel_t last_channel_ = 0;
  std::uint32_t frame_max_ = AMQP_FRAME_MIN_SIZE;
  std::uint16_t channel_max_ = 1;
  std::chrono::seconds heartbeat_{};
};

}  // namespace sagabox::amqp
