#include "conformance/transports/far_side.hpp"
#include "conformance/transports/transport_conformance.hpp"
#include "support/redis_server.hpp"

#include <sagabox/transports/redis.hpp>

#include <hiredis/hiredis.h>

#include <memory>
#include <thread>

namespace sagabox::testing {
namespace {

struct EndContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct EndReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Context = std::unique_ptr<redisContext, EndContext>;
using Reply = std::unique_ptr<redisReply, EndReply>;

std::string text(const redisReply& reply) { return {reply.str, reply.len}; }

Arrived entry(const redisReply& fields) {
  constexpr std::string_view header_prefix = "header:";
  Arrived arrived;
  for (std::size_t i = 0; i + 1 < fields.elements; i += 2) {
    const auto name = text(*fields.element[i]);
    auto value = text(*fields.element[i + 1]);
    if (name == "data") {
      arrived.payload = std::move(value);
    } else if (name == "datacontenttype") {
      arrived.content_type = std::move(value);
    } else if (name.starts_with(header_prefix)) {
      arrived.headers.emplace_back(name.substr(header_prefix.size()), std::move(value));
    } else {
      arrived.attributes.emplace_back(name, std::move(value));
    }
  }
  return arrived;
}

class RedisFarSide final : public FarSide {
 public:
  [[nodiscard]] std::string problem() const override { return server_.problem(); }

  std::unique_ptr<spi::Transport> open() override {
    return redis::open({.port = server_.port(), .connect_max = connect_max}).value();
  }

  std::string fresh_address() override { return "redis:stream-" + std::to_string(++addresses_); }

  std::vector<Arrived> arrived(const std::string& address, std::size_t count) override {
    const auto key = address.substr(address.find(':') + 1);
    const auto give_up = system_clock().boot_now() + OutTray::patience;
    std::vector<Arrived> all;
    do {
      const Context client(redisConnect("127.0.0.1", server_.port()));
      const Reply reply(static_cast<redisReply*>(
          redisCommand(client.get(), "XRANGE %b - +", key.data(), key.size())));
      all.clear();
      if (reply == nullptr) continue;
      for (std::size_t i = 0; i < reply->elements; ++i) {
        all.push_back(entry(*reply->element[i]->element[1]));
      }
    } while (all.size() < count && system_clock().boot_now() < give_up);
    return all;
  }

  std::optional<std::string> refusing_address() override {
    const Context client(redisConnect("127.0.0.1", server_.port()));
    const Reply reply(static_cast<redisReply*>(redisCommand(client.get(), "SET no-stream 1")));
    return "redis:no-stream";
  }

  bool stop() override {
    server_.stop();
    return true;
  }
  void start() override { server_.start(); }
  bool stall() override {
    server_.stall();
    return true;
  }
  void go_on() override { server_.go_on(); }

 private:
  RedisServer server_;
  int addresses_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Redis, TransportConformance,
                         ::testing::Values(FarSideCase{
                             "Redis", [] { return std::make_unique<RedisFarSide>(); }}),
                         case_name);

}  // namespace
}  // namespace sagabox::testing
