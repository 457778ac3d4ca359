#include "transports/mqtt/link.hpp"

#include <mosquitto.h>
#include <mqtt_protocol.h>

namespace sagabox::mqtt {
namespace {

using Kind = spi::SendResult::Kind;

}  // namespace

spi::SendResult reason_meaning(int code, bool require_subscriber) {
  if (code == MQTT_RC_NO_MATCHING_SUBSCRIBERS && require_subscriber) {
    return {Kind::rejected, "MQTT: nobody has subscribed to the topic", std::nullopt};
  }
  if (code < first_error_reason) return {};
  spi::SendResult result{Kind::failed, std::string("MQTT: ") + mosquitto_reason_string(code),
                         std::nullopt};
  switch (code) {
    case MQTT_RC_NOT_AUTHORIZED:
    case MQTT_RC_TOPIC_NAME_INVALID:
    case MQTT_RC_PAYLOAD_FORMAT_INVALID:
    case MQTT_RC_PACKET_TOO_LARGE:
    case MQTT_RC_RETAIN_NOT_SUPPORTED:
    case MQTT_RC_QOS_NOT_SUPPORTED:
      result.kind = Kind::rejected;
      break;
    case MQTT_RC_QUOTA_EXCEEDED:
    case MQTT_RC_SERVER_BUSY:
    case MQTT_RC_MESSAGE_RATE_TOO_HIGH:
    case MQTT_RC_RECEIVE_MAXIMUM_EXCEEDED:
      result.kind = Kind::busy;
      break;
    case MQTT_RC_SERVER_UNAVAILABLE:
    case MQTT_RC_SERVER_SHUTTING_DOWN:
    case MQTT_RC_USE_ANOTHER_SERVER:
    case MQTT_RC_SERVER_MOVED:
      result.kind = Kind::unreachable;
      break;
    default:
      break;
  }
  return result;
}

std::optional<spi::SendResult> MqttLink::post(const spi::Parcel& parcel, std::uint64_t number) {
  const auto& address = static_cast<const TopicAddress&>(*parcel.address);
  const auto refused = [](Kind kind, std::string why) {
    return spi::SendResult{kind, "MQTT: " + std::move(why), std::nullopt};
  };
  // libmosquitto would send it without an error.
  if (address.retain && !client_->limits().retains) {
    return refused(Kind::rejected, "the server retains nothing; set retain: false");
  }
  const auto published = client_->publish(parcel, address);
  switch (published.code) {
    case MOSQ_ERR_SUCCESS:
      break;
    case MOSQ_ERR_OVERSIZE_PACKET:
    case MOSQ_ERR_PAYLOAD_SIZE:
      return refused(Kind::rejected, "larger than the server takes (Maximum Packet Size " +
                                         std::to_string(client_->limits().packet_bytes_max) + ")");
    case MOSQ_ERR_MALFORMED_UTF8:
    case MOSQ_ERR_INVAL:
      return refused(Kind::rejected,
                     "a header or the content type is not text that MQTT can carry");
    case MOSQ_ERR_QOS_NOT_SUPPORTED:
      return refused(Kind::rejected, "the server takes QoS 0 only, which has no answers");
    case MOSQ_ERR_NOMEM:
      return refused(Kind::busy, "no memory");
    default:
      // libmosquitto may have taken it: the connection is closed, and the message is dropped with
      // it.
      lost_ = mosquitto_strerror(published.code);
      return refused(Kind::unreachable, lost_);
  }
  const Open open{number, parcel.message->bytes(), address.require_subscriber};
  open_bytes_ += open.bytes;
  open_[published.id] = open;
  return std::nullopt;
}

Status MqttLink::turn(BootTime now, Answers& answers) {
  last_turn_ = now;
  auto turned = client_->turn();
  for (const auto& [id, reason] : client_->take_answers()) {
    const auto found = open_.find(id);
    if (found == open_.end()) continue;
    const auto open = found->second;
    open_.erase(found);
    open_bytes_ -= open.bytes;
    answers.answered(open.number, reason_meaning(reason, open.require_subscriber));
  }
  if (turned && !lost_.empty()) return Error{Code::provider_unavailable, lost_};
  return turned;
}

}  // namespace sagabox::mqtt
