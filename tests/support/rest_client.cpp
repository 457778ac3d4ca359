#include "support/rest_client.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace sagabox::testing {

std::string RestAnswer::header(std::string_view name) const {
  for (std::size_t at = head.find("\r\n"); at != std::string::npos;
       at = head.find("\r\n", at + 2)) {
    const auto line = std::string_view(head).substr(at + 2);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    const auto value = line.substr(name.size() + 1, line.find("\r\n") - name.size() - 1);
    return std::string(value.substr(std::min(value.find_first_not_of(' '), value.size())));
  }
  return {};
}

struct RestClient::Link {
  int socket = -1;
  SSL_CTX* context = nullptr;
  SSL* tls = nullptr;

  ~Link() {
    SSL_free(tls);
    SSL_CTX_free(context);
    if (socket >= 0) close(socket);
  }
};

RestClient::RestClient(std::uint16_t port) : link_(std::make_unique<Link>()) {
  link_->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{.tv_sec = patience, .tv_usec = 0};
  setsockopt(link_->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(link_->socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int yes = 1;
  setsockopt(link_->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(link_->socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("nobody listens on port " + std::to_string(port));
  }
}

RestClient::RestClient(std::uint16_t port, const std::filesystem::path& certificate)
    : RestClient(port) {
  link_->context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_verify(link_->context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_load_verify_locations(link_->context, certificate.c_str(), nullptr);
  link_->tls = SSL_new(link_->context);
  SSL_set_fd(link_->tls, link_->socket);
  if (SSL_connect(link_->tls) != 1) {
    ERR_clear_error();
    throw std::runtime_error("no TLS with the server");
  }
}

RestClient::~RestClient() = default;
RestClient::RestClient(RestClient&&) noexcept = default;
RestClient& RestClient::operator=(RestClient&&) noexcept = default;

bool RestClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = link_->tls != nullptr
                          ? SSL_write(link_->tls, bytes.data(), static_cast<int>(bytes.size()))
                          : ::send(link_->socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

long RestClient::read_some() {
  std::array<char, 16384> bytes{};
  const long count = link_->tls != nullptr
                         ? SSL_read(link_->tls, bytes.data(), static_cast<int>(bytes.size()))
                         : recv(link_->socket, bytes.data(), bytes.size(), 0);
  if (count > 0) read_.append(bytes.data(), static_cast<std::size_t>(count));
  return count;
}

std::optional<RestAnswer> RestClient::receive() {
  std::size_t end = std::string::npos;
  while ((end = read_.find("\r\n\r\n")) == std::string::npos) {
    if (read_some() <= 0) return std::nullopt;
  }
  RestAnswer answer;
  answer.head = read_.substr(0, end + 2);
  answer.status = static_cast<unsigned>(std::atoi(answer.head.substr(9, 3).c_str()));
  const auto length =
      static_cast<std::size_t>(std::atoll(("0" + answer.header("content-length")).c_str()));
  read_.erase(0, end + 4);
  while (read_.size() < length) {
    if (read_some() <= 0) return std::nullopt;
  }
  answer.body = read_.substr(0, length);
  read_.erase(0, length);
  return answer;
}

bool RestClient::ends() { return read_.empty() && read_some() == 0; }

std::string RestClient::request(const std::string& method, const std::string& target,
                                const std::string& body, const std::string& headers) {
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers;
  if (!body.empty()) {
    text +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return text + "\r\n" + body;
}

RestAnswer RestClient::exchange(const std::string& request) {
  (void)send(request);
  auto answer = receive();
  if (!answer) throw std::runtime_error("the connection ended without an answer");
  return *std::move(answer);
}

RestAnswer RestClient::get(const std::string& target, const std::string& headers) {
  return exchange(request("GET", target, {}, headers));
}

RestAnswer RestClient::post(const std::string& target, const std::string& json,
                            const std::string& headers) {
  return exchange(request("POST", target, json, headers));
}

}  // namespace sagabox::testing
