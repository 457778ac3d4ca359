#include "bench/baselines/transports/amqp_loop.hpp"

#include "bench/baselines/transports/attributes.hpp"
#include "bench/measure.hpp"

#include <amqp.h>
#include <amqp_tcp_socket.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sagabox::bench::baselines {
namespace {

amqp_bytes_t as_bytes(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};
}

void require_normal(const amqp_rpc_reply_t& reply) {
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) throw std::runtime_error("RabbitMQ: not taken");
}

void publish_to_queue(amqp_connection_state_t state, const std::string& queue,
                      const spi::Parcel& parcel) {
  const auto& message = *parcel.message;
  std::vector<std::pair<std::string, std::string>> attributes;
  for_each_attribute(parcel, "cloudEvents:", [&](std::string name, std::string value) {
    attributes.emplace_back(std::move(name), std::move(value));
  });
  std::vector<amqp_table_entry_t> entries;
  for (const auto& [name, value] : attributes) {
    amqp_table_entry_t entry{};
    entry.key = as_bytes(name);
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = as_bytes(value);
    entries.push_back(entry);
  }
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG |
                      AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                      AMQP_BASIC_TYPE_FLAG;
  properties.content_type = as_bytes(message.content_type());
  properties.headers = {static_cast<int>(entries.size()), entries.data()};
  properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  properties.message_id = as_bytes(message.id().view());
  properties.type = as_bytes(message.topic());
  if (amqp_basic_publish(state, 1, amqp_empty_bytes, as_bytes(queue), 1, 0, &properties,
                         as_bytes(message.payload().view())) != AMQP_STATUS_OK) {
    throw std::runtime_error("RabbitMQ: connection lost");
  }
}

/// How many are confirmed by now, all before included. Waits for a frame.
std::uint64_t next_confirm(amqp_connection_state_t state) {
  amqp_frame_t frame{};
  if (amqp_simple_wait_frame(state, &frame) != AMQP_STATUS_OK) {
    throw std::runtime_error("RabbitMQ: connection lost");
  }
  if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_BASIC_ACK_METHOD) {
    throw std::runtime_error("RabbitMQ refused a message of the baseline");
  }
  return static_cast<amqp_basic_ack_t*>(frame.payload.method.decoded)->delivery_tag;
}

}  // namespace

double amqp_loop(std::uint16_t port, const std::string& to, std::uint32_t messages,
                 std::uint32_t window, const std::function<spi::Parcel(std::uint32_t)>& parcel) {
  auto* const state = amqp_new_connection();
  const std::unique_ptr<std::remove_pointer_t<amqp_connection_state_t>,
                        decltype(&amqp_destroy_connection)>
      owner(state, amqp_destroy_connection);
  if (amqp_socket_open(amqp_tcp_socket_new(state), "127.0.0.1", port) != AMQP_STATUS_OK) {
    throw std::runtime_error("no RabbitMQ");
  }
  require_normal(amqp_login(state, "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0, AMQP_SASL_METHOD_PLAIN,
                            "guest", "guest"));
  amqp_channel_open(state, 1);
  require_normal(amqp_get_rpc_reply(state));
  amqp_confirm_select(state, 1);
  require_normal(amqp_get_rpc_reply(state));
  const auto begin = Steady::now();
  std::uint64_t confirmed = 0;
  for (std::uint64_t sent = 0; sent < messages; ++sent) {
    publish_to_queue(state, to, parcel(static_cast<std::uint32_t>(sent)));
    while (sent + 1 - confirmed >= window) {
      confirmed = std::max(confirmed, next_confirm(state));
      amqp_maybe_release_buffers(state);
    }
  }
  while (confirmed < messages) confirmed = std::max(confirmed, next_confirm(state));
  return messages / seconds_since(begin);
}

}  // namespace sagabox::bench::baselines
