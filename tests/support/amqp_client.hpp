#pragma once

#include <amqp.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sagabox::testing {

/// A client on librabbitmq, to inspect the other end of a queue.
class AmqpClient {
 public:
  explicit AmqpClient(std::uint16_t port);
  ~AmqpClient();
  AmqpClient(const AmqpClient&) = delete;
  AmqpClient& operator=(const AmqpClient&) = delete;

  struct Got {
    std::string payload;
    std::string content_type;
    std::string message_id;
    std::string type;
    int delivery_mode = 0;
    std::map<std::string, std::string> headers;
  };

  /// Durable. `arguments`: {"x-overflow", "reject-publish"}; numeric texts are sent as numbers.
  void declare_queue(const std::string& queue,
                     const std::map<std::string, std::string>& arguments = {});
  /// Durable, of type direct.
  void declare_exchange(const std::string& exchange);
  void delete_exchange(const std::string& exchange);
  void bind(const std::string& queue, const std::string& exchange, const std::string& key);
  /// Takes all messages that are in the queue now.
  std::vector<Got> take_all(const std::string& queue);

 private:
  void check(const amqp_rpc_reply_t& reply, const std::string& what) const;
  void check_last(const std::string& what) const;

  amqp_connection_state_t state_;
};

}  // namespace sagabox::testing
