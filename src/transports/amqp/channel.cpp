#include "transports/amqp/channel.hpp"

#include "core/text.hpp"
#include "transports/amqp/connection.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace sagabox::amqp {

using Kind = spi::SendResult::Kind;
using transports::Link;

void Channel::published(const spi::Parcel& parcel, std::uint64_t number) {
  all_.push_back({number, parcel.message->id(), parcel.address, {}});
}

void Channel::confirmed(std::uint64_t tag, bool multiple, bool taken, Link::Answers& answers) {
  if (multiple) {
    // Tag 0 stands for all outstanding tags.
    const auto count = tag == 0 ? all_.size()
                       : tag < first_tag_
                           ? 0
                           : std::min<std::size_t>(all_.size(), tag - first_tag_ + 1);
    for (std::size_t i = 0; i < count; ++i) confirm(all_[i], taken, answers);
  } else if (tag >= first_tag_ && tag - first_tag_ < all_.size()) {
    confirm(all_[tag - first_tag_], taken, answers);
  }
  while (!all_.empty() && all_.front().number == 0) {
    all_.pop_front();
    ++first_tag_;
  }
}

void Channel::confirm(Published& one, bool taken, Link::Answers& answers) const {
  const auto number = std::exchange(one.number, 0);
  if (number == 0) return;
  if (!taken) {
    answers.answered(number, {Kind::busy,
                              "RabbitMQ does not take it now: a queue is full (reject-publish) or "
                              "not available",
                              std::nullopt});
  } else if (!one.returned.empty()) {
    answers.answered(number, {Kind::rejected, one.returned, std::nullopt});
  } else {
    answers.answered(number, {});
  }
}

void Channel::return_begins(const amqp_basic_return_t& method) {
  returned_key_ = as_text(method.routing_key);
  returned_why_ = "unroutable (" + closing_text(method.reply_code, as_text(method.reply_text)) +
                  "): exchange " + quoted(exchange_) + " has no queue for key " +
                  quoted(returned_key_) + "; bind one, or set mandatory: false for this route";
}

void Channel::return_header(const amqp_frame_t& frame) {
  const auto& properties =
      *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded);
  if ((properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) == 0) return;
  const auto id = as_text(properties.message_id);
  // Several parcels of this message to this key all get the same result, so any of them will do.
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Published& one) {
    return one.number != 0 && one.returned.empty() && one.id.view() == id &&
           static_cast<const RoutingAddress&>(*one.address).key == returned_key_;
  });
  if (found != all_.end()) found->returned = returned_why_;
}

namespace {

/// "ACCESS_REFUSED - access to topic 'KEY' in exchange 'x' in vhost '/' refused for user 'u'":
/// returns the text from the key on; nullopt if the whole exchange is refused.
std::optional<std::string_view> from_refused_key(std::string_view text) {
  constexpr std::string_view before = "access to topic '";
  const auto at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + before.size());
}

bool begins_with_key(std::string_view text, std::string_view key) {
  constexpr std::string_view behind = "' in exchange ";
  // The server truncates long texts, and the key with them.
  if (text.find(behind) == std::string_view::npos) return key.starts_with(text);
  return text.starts_with(key) && text.substr(key.size()).starts_with(behind);
}

}  // namespace

void Channel::closed(std::uint16_t code, std::string_view text, Link::Answers& answers) {
  if (code == AMQP_ACCESS_REFUSED) {
    if (const auto from_key = from_refused_key(text)) return key_refused(*from_key, text, answers);
  }
  const auto open = static_cast<std::size_t>(std::count_if(
      all_.begin(), all_.end(), [](const Published& one) { return one.number != 0; }));
  spi::SendResult result{Kind::failed, "RabbitMQ: " + closing_text(code, text), std::nullopt};
  if (code == AMQP_NOT_FOUND || code == AMQP_ACCESS_REFUSED) {
    // The error is about the exchange, and every message on this channel is for that exchange.
    result.kind = Kind::rejected;
  } else if (open > 1) {
    result.kind = Kind::unreachable;
    result.error += "; said of one of several messages, not known which; it may have arrived";
  }
  for (auto& one : all_) {
    if (const auto number = std::exchange(one.number, 0); number != 0) {
      answers.answered(number, result);
    }
  }
  all_.clear();
}

void Channel::key_refused(std::string_view from_key, std::string_view text,
                          Link::Answers& answers) {
  const auto error = "RabbitMQ: " + closing_text(AMQP_ACCESS_REFUSED, text);
  for (auto& one : all_) {
    const auto number = std::exchange(one.number, 0);
    if (number == 0) continue;
    if (begins_with_key(from_key, static_cast<const RoutingAddress&>(*one.address).key)) {
      answers.answered(number, {Kind::rejected, error, std::nullopt});
    } else {
      answers.answered(number,
                       {Kind::unreachable, error + "; said of another message; it may have arrived",
                        std::nullopt});
    }
  }
  all_.clear();
}

}  // namespace sagabox::amqp
