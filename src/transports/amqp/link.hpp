#pragma once

#include "transports/amqp/channel.hpp"
#include "transports/amqp/connection.hpp"
#include "transports/courier.hpp"
#include "transports/out_buffer.hpp"

#include <map>
#include <memory>
#include <string>

namespace sagabox::amqp {

/// Publishes many messages at once, with confirms.
class AmqpLink final : public transports::Link {
 public:
  AmqpLink(std::unique_ptr<Connection> connection, BootTime now);

  std::optional<spi::SendResult> post(const spi::Parcel& parcel, std::uint64_t number) override;
  [[nodiscard]] bool takes_more() const override { return out_.size() < out_bytes_max; }
  Status turn(BootTime now, Answers& answers) override;
  [[nodiscard]] int fd() const override { return connection_->stream().fd(); }
  [[nodiscard]] bool wants_write() const override { return !out_.empty(); }
  [[nodiscard]] BootTime turn_by() const override;
  void leave() override;

 private:
  static constexpr std::size_t out_bytes_max = 1024UL * 1024;

  /// Opens a channel for an exchange that has none; null if the server allows no more.
  Channel* channel_for(const std::string& exchange);
  Status beat(BootTime now);
  Status write(BootTime now);
  Status read(BootTime now, Answers& answers);
  Status take(const amqp_frame_t& frame, Answers& answers);
  Status take_method(Channel* channel, const amqp_method_t& method, Answers& answers);
  void end_channel(Channel& channel, const amqp_channel_close_t& close, Answers& answers);

  std::unique_ptr<Connection> connection_;
  std::map<std::string, std::unique_ptr<Channel>> by_exchange_;
  std::map<amqp_channel_t, Channel*> by_id_;
  std::string blocked_;  ///< why the server accepts nothing for now
  transports::OutBuffer out_;
  BootTime last_written_;
  BootTime last_read_;
};

}  // namespace sagabox::amqp
