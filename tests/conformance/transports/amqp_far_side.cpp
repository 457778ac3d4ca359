#include "conformance/transports/far_side.hpp"
#include "conformance/transports/transport_conformance.hpp"
#include "support/amqp_client.hpp"
#include "support/rabbitmq_server.hpp"

#include <sagabox/transports/amqp.hpp>

#include <unistd.h>

#include <map>
#include <memory>
#include <thread>

namespace sagabox::testing {
namespace {

Arrived arrival(AmqpClient::Got got) {
  constexpr std::string_view prefix = "cloudEvents:";
  Arrived arrived{.payload = std::move(got.payload), .content_type = std::move(got.content_type)};
  for (const auto& [name, value] : got.headers) {
    if (name.starts_with(prefix)) {
      arrived.attributes.emplace_back(name.substr(prefix.size()), value);
    } else {
      arrived.headers.emplace_back(name, value);
    }
  }
  return arrived;
}

class AmqpFarSide final : public FarSide {
 public:
  ~AmqpFarSide() override {
    // The next test finds it running.
    if (stalled_) server_.go_on();
    if (stopped_) start();
  }

  [[nodiscard]] std::string problem() const override { return server_.problem(); }

  std::unique_ptr<spi::Transport> open() override {
    return amqp::open({.port = server_.port(), .connect_max = connect_max, .heartbeat = keep_alive})
        .value();
  }

  /// In turn through the default exchange and through one of its own.
  std::string fresh_address() override {
    const auto name = "suite-" + std::to_string(getpid()) + "-" + std::to_string(++last());
    const bool bound = last() % 2 == 0;
    declare(name, bound);
    declared_at_ = system_clock().boot_now();
    const auto address = bound ? "amqp:" + name + "/some/key" : "amqp:/" + name;
    queues_[address] = {.name = name, .bound = bound};
    return address;
  }

  std::vector<Arrived> arrived(const std::string& address, std::size_t count) override {
    const auto give_up = system_clock().boot_now() + OutTray::patience;
    auto& queue = queues_.at(address);
    AmqpClient client(server_.port());
    for (;;) {
      for (auto& got : client.take_all(queue.name)) {
        queue.arrived.push_back(arrival(std::move(got)));
      }
      if (queue.arrived.size() >= count || system_clock().boot_now() >= give_up) {
        return queue.arrived;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  std::optional<std::string> refusing_address() override { return "amqp:/no-such-queue"; }

  bool stop() override {
    // The server is killed. It confirms messages when they are written, but not that a queue is
    // there: that goes to its file a little later (two seconds, it seems, and nobody tells when),
    // and a queue that is forgotten takes all with it.
    std::this_thread::sleep_for(declared_at_ + std::chrono::seconds(4) - system_clock().boot_now());
    server_.stop();
    stopped_ = true;
    return true;
  }
  void start() override {
    EXPECT_TRUE(server_.start()) << "RabbitMQ does not start again";
    stopped_ = false;
    // One that was declared a moment before the server was killed may be forgotten.
    for (const auto& [address, queue] : queues_) declare(queue.name, queue.bound);
  }
  bool stall() override {
    server_.stall();
    stalled_ = true;
    return true;
  }
  void go_on() override {
    server_.go_on();
    stalled_ = false;
  }

 private:
  struct Queue {
    std::string name;
    bool bound = false;  ///< to an exchange of its own
    std::vector<Arrived> arrived{};
  };

  void declare(const std::string& name, bool bound) const {
    AmqpClient client(server_.port());
    client.declare_queue(name);
    if (!bound) return;
    client.declare_exchange(name);
    client.bind(name, name, "some/key");
  }
  static int& last() {
    static int number = 0;
    return number;
  }

  const RabbitmqServer& server_ = RabbitmqServer::shared();
  std::map<std::string, Queue> queues_;
  BootTime declared_at_{};
  bool stopped_ = false;
  bool stalled_ = false;
};

INSTANTIATE_TEST_SUITE_P(RabbitMq, TransportConformance,
                         ::testing::Values(FarSideCase{
                             "RabbitMq", [] { return std::make_unique<AmqpFarSide>(); }}),
                         case_name);

}  // namespace
}  // namespace sagabox::testing
