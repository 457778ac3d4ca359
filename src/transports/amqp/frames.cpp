#include "transports/amqp/frames.hpp"

#include "transports/envelope.hpp"

#include <array>
#include <cassert>
#include <vector>

namespace sagabox::amqp {
namespace {

using transports::Envelope;
using transports::may_travel;

constexpr std::size_t frame_header = 7;  ///< type, channel, size
constexpr std::size_t frame_overhead = frame_header + 1;
constexpr std::size_t content_header = 12;  ///< class, weight, body size
constexpr std::size_t short_string_max = 255;
constexpr std::size_t method_bytes_max = 16UL * 1024;
constexpr std::string_view attribute_prefix = "cloudEvents:";

void append_number(std::string& out, std::uint64_t number, std::size_t bytes) {
  for (auto i = bytes; i-- > 0;) out += static_cast<char>((number >> (8 * i)) & 0xff);
}

void begin_frame(std::string& out, int type, amqp_channel_t channel, std::size_t size) {
  append_number(out, static_cast<std::uint64_t>(type), 1);
  append_number(out, channel, 2);
  append_number(out, size, 4);
}

void end_frame(std::string& out) { append_number(out, AMQP_FRAME_END, 1); }

/// RabbitMQ reads additional routing keys from these headers; only the route may set routing keys.
bool routes(std::string_view header) { return header == "CC" || header == "BCC"; }

amqp_table_entry_t entry(std::string_view name, std::string_view value) {
  amqp_table_entry_t one{};
  one.key = as_bytes(name);
  one.value.kind = AMQP_FIELD_KIND_UTF8;
  one.value.value.bytes = as_bytes(value);
  return one;
}

/// The content of the header frame; refers to the parcel's message.
class Properties {
 public:
  Properties(const spi::Parcel& parcel, const RoutingAddress& address) : envelope_(parcel) {
    const auto& message = *parcel.message;
    // Names are built first, because entries point into them.
    names_.reserve(envelope_.attributes().size());
    for (const auto& [name, value] : envelope_.attributes()) {
      names_.push_back(std::string(attribute_prefix).append(name));
      entries_.push_back(entry(names_.back(), value));
    }
    for (const auto& [name, value] : message.headers()) {
      if (!may_travel(name) || routes(name)) continue;
      if (name.size() > short_string_max) problem_ = "a header's name is over 255 bytes long";
      entries_.push_back(entry(name, value));
    }
    if (message.content_type().size() > short_string_max) {
      problem_ = "the content type is over 255 bytes long";
    }
    all_._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG |
                  AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                  AMQP_BASIC_TIMESTAMP_FLAG;
    all_.content_type = as_bytes(message.content_type());
    all_.headers = {static_cast<int>(entries_.size()), entries_.data()};
    all_.delivery_mode =
        address.persistent ? AMQP_DELIVERY_PERSISTENT : AMQP_DELIVERY_NONPERSISTENT;
    all_.message_id = as_bytes(message.id().view());
    const auto seconds =
        std::chrono::floor<std::chrono::seconds>(message.occurred_at()).time_since_epoch().count();
    all_.timestamp = seconds < 0 ? 0 : static_cast<std::uint64_t>(seconds);
    // It is also sent as an attribute, whatever its length.
    if (message.topic().size() <= short_string_max) {
      all_._flags |= AMQP_BASIC_TYPE_FLAG;
      all_.type = as_bytes(message.topic());
    }
  }

  [[nodiscard]] const std::optional<std::string>& problem() const noexcept { return problem_; }

  /// Appends them; returns false if they need more than `bytes_max`.
  bool append_to(std::string& out, std::size_t bytes_max) {
    std::size_t room = 512;
    for (const auto& one : entries_) room += one.key.len + one.value.value.bytes.len + 6;
    room += all_.content_type.len + all_.message_id.len + all_.type.len;
    const auto begin = out.size();
    out.resize(begin + room);
    const int written = amqp_encode_properties(AMQP_BASIC_CLASS, &all_, {room, out.data() + begin});
    assert(written >= 0);
    out.resize(begin + static_cast<std::size_t>(written));
    return static_cast<std::size_t>(written) <= bytes_max;
  }

 private:
  const Envelope envelope_;
  std::vector<std::string> names_;
  std::vector<amqp_table_entry_t> entries_;
  amqp_basic_properties_t all_{};
  std::optional<std::string> problem_;
};

void patch_size(std::string& out, std::size_t frame, std::size_t size) {
  std::string bytes;
  append_number(bytes, size, 4);
  out.replace(frame + 3, 4, bytes);
}

}  // namespace

void append_method(std::string& out, amqp_channel_t channel, amqp_method_number_t id,
                   void* method) {
  std::array<char, method_bytes_max> buffer;  // NOLINT(*-member-init): written below
  const int written = amqp_encode_method(id, method, {buffer.size(), buffer.data()});
  assert(written >= 0);
  const auto size = static_cast<std::size_t>(written);
  begin_frame(out, AMQP_FRAME_METHOD, channel, 4 + size);
  append_number(out, id, 4);
  out.append(buffer.data(), size);
  end_frame(out);
}

void append_heartbeat(std::string& out) {
  begin_frame(out, AMQP_FRAME_HEARTBEAT, 0, 0);
  end_frame(out);
}

std::optional<std::string> append_publish(std::string& out, amqp_channel_t channel,
                                          const spi::Parcel& parcel, const RoutingAddress& address,
                                          std::uint32_t frame_max) {
  Properties properties(parcel, address);
  if (properties.problem()) return properties.problem();
  const auto before = out.size();
  amqp_basic_publish_t publish{};
  publish.exchange = as_bytes(address.exchange);
  publish.routing_key = as_bytes(address.key);
  publish.mandatory = address.mandatory ? 1 : 0;
  append_method(out, channel, AMQP_BASIC_PUBLISH_METHOD, &publish);

  auto payload = parcel.message->payload().view();
  const auto frame = out.size();
  begin_frame(out, AMQP_FRAME_HEADER, channel, 0);
  append_number(out, AMQP_BASIC_CLASS, 2);
  append_number(out, 0, 2);
  append_number(out, payload.size(), 8);
  if (!properties.append_to(out, frame_max - frame_overhead - content_header)) {
    out.resize(before);
    return "its headers are larger than the server takes (frame_max " + std::to_string(frame_max) +
           " bytes)";
  }
  patch_size(out, frame, out.size() - frame - frame_header);
  end_frame(out);

  while (!payload.empty()) {
    const auto part = payload.substr(0, frame_max - frame_overhead);
    payload.remove_prefix(part.size());
    begin_frame(out, AMQP_FRAME_BODY, channel, part.size());
    out.append(part);
    end_frame(out);
  }
  return std::nullopt;
}

}  // namespace sagabox::amqp
