#include "support/amqp_client.hpp"

#include <amqp_tcp_socket.h>

#include <stdexcept>

namespace sagabox::testing {
namespace {

amqp_bytes_t as_bytes(const std::string& text) {
  return {text.size(), const_cast<char*>(text.data())};
}
std::string as_text(const amqp_bytes_t& bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

}  // namespace

AmqpClient::AmqpClient(std::uint16_t port) : state_(amqp_new_connection()) {
  auto* const socket = amqp_tcp_socket_new(state_);
  if (amqp_socket_open(socket, "127.0.0.1", port) != AMQP_STATUS_OK) {
    amqp_destroy_connection(state_);
    throw std::runtime_error("cannot connect to RabbitMQ");
  }
  check(amqp_login(state_, "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0, AMQP_SASL_METHOD_PLAIN, "guest",
                   "guest"),
        "logging in");
  amqp_channel_open(state_, 1);
  check_last("opening a channel");
}

AmqpClient::~AmqpClient() {
  amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
  amqp_destroy_connection(state_);
}

void AmqpClient::check(const amqp_rpc_reply_t& reply, const std::string& what) const {
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) throw std::runtime_error("RabbitMQ: " + what);
}

void AmqpClient::check_last(const std::string& what) const {
  check(amqp_get_rpc_reply(state_), what);
}

void AmqpClient::declare_queue(const std::string& queue,
                               const std::map<std::string, std::string>& arguments) {
  std::vector<amqp_table_entry_t> entries;
  for (const auto& [name, value] : arguments) {
    amqp_table_entry_t entry{};
    entry.key = as_bytes(name);
    if (value.find_first_not_of("0123456789") == std::string::npos) {
      entry.value.kind = AMQP_FIELD_KIND_I32;
      entry.value.value.i32 = std::stoi(value);
    } else {
      entry.value.kind = AMQP_FIELD_KIND_UTF8;
      entry.value.value.bytes = as_bytes(value);
    }
    entries.push_back(entry);
  }
  amqp_queue_declare(state_, 1, as_bytes(queue), 0, 1, 0, 0,
                     {static_cast<int>(entries.size()), entries.data()});
  check_last("declaring a queue");
}

void AmqpClient::declare_exchange(const std::string& exchange) {
  amqp_exchange_declare(state_, 1, as_bytes(exchange), amqp_cstring_bytes("direct"), 0, 1, 0, 0,
                        amqp_empty_table);
  check_last("declaring an exchange");
}

void AmqpClient::delete_exchange(const std::string& exchange) {
  amqp_exchange_delete(state_, 1, as_bytes(exchange), 0);
  check_last("deleting an exchange");
}

void AmqpClient::bind(const std::string& queue, const std::string& exchange,
                      const std::string& key) {
  amqp_queue_bind(state_, 1, as_bytes(queue), as_bytes(exchange), as_bytes(key), amqp_empty_table);
  check_last("binding a queue");
}

std::vector<AmqpClient::Got> AmqpClient::take_all(const std::string& queue) {
  std::vector<Got> all;
  for (;;) {
    amqp_maybe_release_buffers(state_);
    const auto reply = amqp_basic_get(state_, 1, as_bytes(queue), 1);
    check(reply, "taking from a queue");
    if (reply.reply.id == AMQP_BASIC_GET_EMPTY_METHOD) return all;
    amqp_message_t message;
    check(amqp_read_message(state_, 1, &message, 0), "reading a message");
    const auto& properties = message.properties;
    Got got{.payload = as_text(message.body),
            .content_type = as_text(properties.content_type),
            .message_id = as_text(properties.message_id),
            .type = as_text(properties.type),
            .delivery_mode = properties.delivery_mode};
    for (int i = 0; i < properties.headers.num_entries; ++i) {
      const auto& entry = properties.headers.entries[i];
      got.headers[as_text(entry.key)] = as_text(entry.value.value.bytes);
    }
    all.push_back(std::move(got));
    amqp_destroy_message(&message);
  }
}

}  // namespace sagabox::testing
