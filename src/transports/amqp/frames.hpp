#pragma once

#include <sagabox/spi/transport.hpp>

#include <amqp.h>
#include <amqp_framing.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::amqp {

struct RoutingAddress final : spi::Address {
  std::string exchange;  ///< empty: the default exchange
  std::string key;
  bool mandatory = true;
  bool persistent = true;
};

inline amqp_bytes_t as_bytes(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};
}
inline std::string_view as_text(const amqp_bytes_t& bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

/// `method` is the struct that belongs to `id`. The caller must keep short strings short.
void append_method(std::string& out, amqp_channel_t channel, amqp_method_number_t id, void* method);
void append_heartbeat(std::string& out);
/// Appends basic.publish, the properties and the payload. If the message cannot be sent, appends
/// nothing and returns the reason.
std::optional<std::string> append_publish(std::string& out, amqp_channel_t channel,
                                          const spi::Parcel& parcel, const RoutingAddress& address,
                                          std::uint32_t frame_max);

}  // namespace sagabox::amqp
