#include "transports/amqp/link.hpp"

#include <algorithm>

namespace sagabox::amqp {

using Kind = spi::SendResult::Kind;

namespace {

/// Retry delay of a message for whose exchange no channel is free.
constexpr Duration channel_wait = std::chrono::seconds(1);

Error lost(std::string message) { return {Code::provider_unavailable, std::move(message)}; }

}  // namespace

AmqpLink::AmqpLink(std::unique_ptr<Connection> connection, BootTime now)
    : connection_(std::move(connection)), last_written_(now), last_read_(now) {}

std::optional<spi::SendResult> AmqpLink::post(const spi::Parcel& parcel, std::uint64_t number) {
  if (!blocked_.empty()) {
    return spi::SendResult{Kind::busy, "RabbitMQ takes nothing for now: " + blocked_, std::nullopt};
  }
  const auto& address = static_cast<const RoutingAddress&>(*parcel.address);
  auto* const channel = channel_for(address.exchange);
  if (channel == nullptr) {
    return spi::SendResult{Kind::later,
                           "RabbitMQ allows " + std::to_string(connection_->channel_max()) +
                               " channels, and as many exchanges are in use",
                           channel_wait};
  }
  if (auto problem =
          append_publish(out_.end(), channel->id(), parcel, address, connection_->frame_max())) {
    return spi::SendResult{Kind::rejected, *problem, std::nullopt};
  }
  channel->published(parcel, number);
  return std::nullopt;
}

Channel* AmqpLink::channel_for(const std::string& exchange) {
  const auto found = by_exchange_.find(exchange);
  if (found != by_exchange_.end()) return found->second.get();
  if (by_id_.size() >= connection_->channel_max()) return nullptr;
  amqp_channel_t id = 1;
  while (by_id_.contains(id)) ++id;
  auto channel = std::make_unique<Channel>(id, exchange);
  by_id_[id] = channel.get();
  amqp_channel_open_t open{};
  amqp_confirm_select_t confirm{};
  confirm.nowait = 1;
  // The server processes frames in order, so publishing need not wait for the answer.
  append_method(out_.end(), id, AMQP_CHANNEL_OPEN_METHOD, &open);
  append_method(out_.end(), id, AMQP_CONFIRM_SELECT_METHOD, &confirm);
  return (by_exchange_[exchange] = std::move(channel)).get();
}

Status AmqpLink::turn(BootTime now, Answers& answers) {
  if (auto done = beat(now); !done) return done;
  if (auto done = write(now); !done) {
    // The server may have sent its reason before it closed the connection.
    auto said = read(now, answers);
    return said ? done : said;
  }
  return read(now, answers);
}

Status AmqpLink::beat(BootTime now) {
  const auto beat = connection_->heartbeat();
  if (beat.count() == 0) return {};
  if (now - last_read_ >= 2 * beat) return lost("no sign of life for two heartbeats");
  if (now - last_written_ >= beat / 2 && out_.empty()) append_heartbeat(out_.end());
  return {};
}

BootTime AmqpLink::turn_by() const {
  const Duration beat = connection_->heartbeat();
  if (beat.count() == 0) return BootTime::max();
  const auto silent_at = last_read_ + 2 * beat;
  return out_.empty() ? std::min(silent_at, last_written_ + beat / 2) : silent_at;
}

Status AmqpLink::write(BootTime now) {
  return out_.flush([&](std::string_view bytes) {
    auto taken = connection_->stream().write(bytes);
    if (taken && *taken > 0) last_written_ = now;
    return taken;
  });
}

Status AmqpLink::read(BootTime now, Answers& answers) {
  for (;;) {
    for (;;) {
      const auto frame = connection_->next_frame();
      if (!frame) return frame.error();
      if (frame->frame_type == 0) break;
      if (auto done = take(*frame, answers); !done) return done;
    }
    const auto received = connection_->receive();
    if (!received) return received.error();
    if (!*received) return {};
    last_read_ = now;
  }
}

Status AmqpLink::take(const amqp_frame_t& frame, Answers& answers) {
  const auto found = by_id_.find(frame.channel);
  auto* const channel = found == by_id_.end() ? nullptr : found->second;
  if (frame.frame_type == AMQP_FRAME_METHOD) {
    return take_method(channel, frame.payload.method, answers);
  }
  // The payload of a returned message is ignored.
  if (channel != nullptr && frame.frame_type == AMQP_FRAME_HEADER) channel->return_header(frame);
  return {};
}

Status AmqpLink::take_method(Channel* channel, const amqp_method_t& method, Answers& answers) {
  switch (method.id) {
    case AMQP_CONNECTION_CLOSE_METHOD: {
      const auto& close = *static_cast<const amqp_connection_close_t*>(method.decoded);
      return lost(closing_text(close.reply_code, as_text(close.reply_text)));
    }
    case AMQP_CONNECTION_BLOCKED_METHOD: {
      const auto reason =
          as_text(static_cast<const amqp_connection_blocked_t*>(method.decoded)->reason);
      blocked_ = reason.empty() ? "no reason given" : reason.substr(0, 200);
      return {};
    }
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      blocked_.clear();
      return {};
    default:
      break;
  }
  if (channel == nullptr) return {};
  switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto& ack = *static_cast<const amqp_basic_ack_t*>(method.decoded);
      channel->confirmed(ack.delivery_tag, ack.multiple != 0, true, answers);
      break;
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto& nack = *static_cast<const amqp_basic_nack_t*>(method.decoded);
      channel->confirmed(nack.delivery_tag, nack.multiple != 0, false, answers);
      break;
    }
    case AMQP_BASIC_RETURN_METHOD:
      channel->return_begins(*static_cast<const amqp_basic_return_t*>(method.decoded));
      break;
    case AMQP_CHANNEL_CLOSE_METHOD:
      end_channel(*channel, *static_cast<const amqp_channel_close_t*>(method.decoded), answers);
      break;
    default:
      break;
  }
  return {};
}

void AmqpLink::end_channel(Channel& channel, const amqp_channel_close_t& close, Answers& answers) {
  amqp_channel_close_ok_t agreed{};
  append_method(out_.end(), channel.id(), AMQP_CHANNEL_CLOSE_OK_METHOD, &agreed);
  channel.closed(close.reply_code, as_text(close.reply_text), answers);
  by_id_.erase(channel.id());
  by_exchange_.erase(std::string(channel.exchange()));
}

void AmqpLink::leave() {
  amqp_connection_close_t close{};
  close.reply_code = AMQP_REPLY_SUCCESS;
  append_method(out_.end(), 0, AMQP_CONNECTION_CLOSE_METHOD, &close);
  if (write(last_written_) && out_.empty()) connection_->stream().end_gently();
}

}  // namespace sagabox::amqp
