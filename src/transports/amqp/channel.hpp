#pragma once

#include "transports/amqp/frames.hpp"
#include "transports/courier.hpp"

#include <deque>
#include <memory>
#include <string>

namespace sagabox::amqp {

/// The messages of one channel that wait for their confirms. Each exchange has a channel of its
/// own: if an exchange does not exist, the server closes the channel and drops everything in flight
/// on it.
class Channel {
 public:
  Channel(amqp_channel_t id, std::string exchange) : id_(id), exchange_(std::move(exchange)) {}

  [[nodiscard]] amqp_channel_t id() const noexcept { return id_; }
  [[nodiscard]] const std::string& exchange() const noexcept { return exchange_; }

  /// Delivery tags count the published messages, from 1.
  void published(const spi::Parcel& parcel, std::uint64_t number);

  /// basic.ack and basic.nack.
  void confirmed(std::uint64_t tag, bool multiple, bool taken, transports::Link::Answers& answers);
  /// basic.return and the header after it: the message is unroutable. Its confirm follows.
  void return_begins(const amqp_basic_return_t& method);
  void return_header(const amqp_frame_t& frame);
  /// channel.close: every message in flight has its result now.
  void closed(std::uint16_t code, std::string_view text, transports::Link::Answers& answers);

 private:
  struct Published {
    std::uint64_t number = 0;  ///< 0: confirmed
    MessageId id;
    std::shared_ptr<const spi::Address> address;
    std::string returned;  ///< why it was returned
  };

  /// 403 for a topic permission: it refuses the messages with its key, not the others on the
  /// channel.
  void key_refused(std::string_view from_key, std::string_view text,
                   transports::Link::Answers& answers);
  void confirm(Published& one, bool taken, transports::Link::Answers& answers) const;

  const amqp_channel_t id_;
  const std::string exchange_;
  std::deque<Published> all_;
  std::uint64_t first_tag_ = 1;

  std::string returned_key_;
  std::string returned_why_;
};

}  // namespace sagabox::amqp
