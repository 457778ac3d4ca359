#include "transports/nats/connector.hpp"

#include <sagabox/transports/nats.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stop_token>
#include <string>
#include <thread>

namespace sagabox::nats {
namespace {

using namespace std::chrono_literals;

/// Takes connections, lets clients log in, and ends them at once.
class FickleServer {
 public:
  FickleServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, raw, size) != 0 || ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, raw, &size) != 0) {
      return;
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) serve_one();
    });
  }
  ~FickleServer() {
    thread_.request_stop();
    ::shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::close(listener_);
  }
  FickleServer(const FickleServer&) = delete;
  FickleServer& operator=(const FickleServer&) = delete;
  [[nodiscard]] int port() const { return port_; }

 private:
  void serve_one() const {
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    const std::string hello =
        R"(INFO {"server_id":"x","version":"2.9.10","headers":true,"max_payload":1048576})"
        "\r\n";
    (void)!::write(client, hello.data(), hello.size());
    std::string heard;
    std::array<char, 1024> some{};
    while (heard.find("PING\r\n") == std::string::npos) {
      const auto bytes = ::read(client, some.data(), some.size());
      if (bytes <= 0) break;
      heard.append(some.data(), static_cast<std::size_t>(bytes));
    }
    (void)!::write(client, "PONG\r\n", 6);
    ::close(client);
  }

  int listener_;
  int port_ = 0;
  std::jthread thread_;
};

TEST(NatsConnectorTest, ServerThatEndsConnectionsAtOnceIsNotDialledInALoop) {
  const FickleServer server;
  ASSERT_NE(server.port(), 0);
  const Options options{.servers = {"nats://127.0.0.1:" + std::to_string(server.port())},
                        .backoff_min = 20ms,
                        .backoff_max = 10s};
  const auto begin = system_clock().boot_now();
  const auto give_up = begin + 60s;
  Connector connector(options, std::make_shared<transports::UnderWay>(1),
                      std::make_shared<transports::Wake>());
  int made = 0;
  connector.want(nullptr);
  while (made < 5 && system_clock().boot_now() < give_up) {
    auto news = connector.news();
    if (auto* const connection = std::get_if<std::unique_ptr<Connection>>(&news)) {
      ++made;
      connector.want(std::move(*connection));
    } else {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(made, 5);
  // 20 + 40 + 80 + 160 ms between the five.
  EXPECT_GE(system_clock().boot_now() - begin, 300ms);
}

}  // namespace
}  // namespace sagabox::nats
