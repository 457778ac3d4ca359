#include "bench/rest/load.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace sagabox::bench::rest {
namespace {

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("the server does not take another connection");
    }
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] int socket_number() const { return socket_; }

  void send(const std::string& request) const {
    for (std::size_t done = 0; done < request.size();) {
      const auto bytes =
          ::send(socket_, request.data() + done, request.size() - done, MSG_NOSIGNAL);
      if (bytes <= 0) throw std::runtime_error("the server hung up");
      done += static_cast<std::size_t>(bytes);
    }
  }

  /// True when the answer is complete.
  bool receive() {
    std::array<char, 65536> bytes;  // NOLINT(*-member-init)
    const auto count = recv(socket_, bytes.data(), bytes.size(), 0);
    if (count <= 0) throw std::runtime_error("the server hung up");
    answer_.append(bytes.data(), static_cast<std::size_t>(count));
    const auto end = answer_.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    constexpr std::string_view name = "Content-Length: ";
    const auto length = answer_.find(name);
    if (length > end) throw std::runtime_error("an answer without a length");
    const auto body = static_cast<std::size_t>(std::atoll(answer_.c_str() + length + name.size()));
    if (answer_.size() < end + 4 + body) return false;
    if (!answer_.starts_with("HTTP/1.1 201")) throw std::runtime_error("refused: " + answer_);
    answer_.clear();
    return true;
  }

 private:
  int socket_;
  std::string answer_;
};

}  // namespace

void send_all(const Load& load) {
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<pollfd> watched;
  std::int64_t sent = 0;
  for (int number = 0; number < load.connections && sent < load.requests; ++number) {
    clients.push_back(std::make_unique<Client>(load.port));
    watched.push_back({clients.back()->socket_number(), POLLIN, 0});
    clients.back()->send(load.request(++sent));
  }
  constexpr int patience_ms = 30'000;
  for (std::int64_t answered = 0; answered < load.requests;) {
    if (poll(watched.data(), watched.size(), patience_ms) <= 0) {
      throw std::runtime_error("no answer comes");
    }
    for (std::size_t at = 0; at < clients.size(); ++at) {
      if (watched[at].revents == 0 || !clients[at]->receive()) continue;
      ++answered;
      if (sent < load.requests) clients[at]->send(load.request(++sent));
    }
  }
}

}  // namespace sagabox::bench::rest
