#include "transports/stream.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace sagabox::transports {
namespace {

Error lost(std::string message) { return {Code::provider_unavailable, std::move(message)}; }
std::string why(int error) { return std::generic_category().message(error); }

/// The oldest error of OpenSSL; clears its queue.
std::string tls_complaint() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

struct Addresses {
  addrinfo* first = nullptr;
  ~Addresses() {
    if (first != nullptr) freeaddrinfo(first);
  }
};

}  // namespace

BootTime connect_by(BootTime now, BootTime deadline, std::size_t addresses_left) {
  if (deadline <= now || addresses_left <= 1) return deadline;
  return now + (deadline - now) / static_cast<Duration::rep>(addresses_left);
}

Result<std::unique_ptr<Stream>> Stream::connect(const Endpoint& endpoint, BootTime deadline,
                                                const Clock& clock) {
  auto stream = endpoint.socket_path.empty() ? connect_tcp(endpoint, deadline, clock)
                                             : connect_unix(endpoint.socket_path);
  if (stream && endpoint.tls.enabled) {
    if (auto started = (*stream)->start_tls(endpoint, deadline, clock); !started) {
      return started.error();
    }
  }
  return stream;
}

Result<std::unique_ptr<Stream>> Stream::connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return lost("the socket's path is too long");
  path.copy(address.sun_path, path.size());
  std::unique_ptr<Stream> stream(
      new Stream(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (stream->fd_ < 0 ||
      ::connect(stream->fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return lost("cannot connect: " + why(errno));
  }
  return stream;
}

Result<std::unique_ptr<Stream>> Stream::connect_tcp(const Endpoint& endpoint, BootTime deadline,
                                                    const Clock& clock) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  Addresses found;
  const auto port = std::to_string(endpoint.port);
  if (const int code = getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found.first);
      code != 0) {
    return lost(std::string("cannot look up the host: ") + gai_strerror(code));
  }
  std::size_t left = 0;
  for (const auto* one = found.first; one != nullptr; one = one->ai_next) ++left;
  std::string problem = "the host has no address";
  for (const auto* one = found.first; one != nullptr; one = one->ai_next, --left) {
    std::unique_ptr<Stream> stream(
        new Stream(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
    if (stream->fd_ < 0) return lost("no socket: " + why(errno));
    if (::connect(stream->fd_, one->ai_addr, one->ai_addrlen) != 0) {
      int error = errno;
      if (error == EINPROGRESS) {
        if (!stream->wait(POLLOUT, connect_by(clock.boot_now(), deadline, left), clock)) {
          problem = "cannot connect: no answer";
          continue;
        }
        socklen_t size = sizeof error;
        getsockopt(stream->fd_, SOL_SOCKET, SO_ERROR, &error, &size);
      }
      if (error != 0) {
        problem = "cannot connect: " + why(error);
        continue;
      }
    }
    const int on = 1;
    setsockopt(stream->fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(stream->fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return stream;
  }
  return lost(std::move(problem));
}

Status Stream::start_tls(const Endpoint& endpoint, BootTime deadline, const Clock& clock) {
  const auto& wanted = endpoint.tls;
  context_ = SSL_CTX_new(TLS_client_method());
  if (context_ == nullptr) return lost("TLS: " + tls_complaint());
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const bool trusts = wanted.ca_file.empty()
                          ? SSL_CTX_set_default_verify_paths(context_) == 1
                          : SSL_CTX_load_verify_file(context_, wanted.ca_file.c_str()) == 1;
  if (!trusts) return lost("TLS: cannot read the CA file: " + tls_complaint());
  if (!wanted.certificate_file.empty() &&
      (SSL_CTX_use_certificate_chain_file(context_, wanted.certificate_file.c_str()) != 1 ||
       SSL_CTX_use_PrivateKey_file(context_, wanted.key_file.c_str(), SSL_FILETYPE_PEM) != 1)) {
    return lost("TLS: cannot read our certificate or its key: " + tls_complaint());
  }
  tls_ = SSL_new(context_);
  SSL_set_fd(tls_, fd_);
  const auto& host = endpoint.host;
  std::array<unsigned char, sizeof(in6_addr)> number{};
  const bool is_number = inet_pton(AF_INET, host.c_str(), number.data()) == 1 ||
                         inet_pton(AF_INET6, host.c_str(), number.data()) == 1;
  if (is_number) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls_), host.c_str());
  } else {
    SSL_set_tlsext_host_name(tls_, host.c_str());
    SSL_set1_host(tls_, host.c_str());
  }
  for (;;) {
    ERR_clear_error();
    const int result = SSL_connect(tls_);
    if (result == 1) return {};
    const int wants = SSL_get_error(tls_, result);
    if (wants != SSL_ERROR_WANT_READ && wants != SSL_ERROR_WANT_WRITE) {
      const auto verdict = SSL_get_verify_result(tls_);
      return lost("TLS: " + (verdict == X509_V_OK
                                 ? tls_complaint()
                                 : std::string("the server's certificate is not accepted: ") +
                                       X509_verify_cert_error_string(verdict)));
    }
    const short events = wants == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    if (auto ready = wait(events, deadline, clock); !ready) return ready;
  }
}

Stream::~Stream() {
  if (tls_ != nullptr) SSL_free(tls_);
  if (context_ != nullptr) SSL_CTX_free(context_);
  if (fd_ < 0) return;
  if (cut_) {
    const linger at_once{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ::close(fd_);
}

void Stream::end_gently() {
  cut_ = false;
  if (tls_ != nullptr) SSL_shutdown(tls_);
}

Result<std::size_t> Stream::tls_result(int result, std::size_t bytes) {
  if (result == 1) return bytes;
  switch (SSL_get_error(tls_, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return std::size_t{0};
    case SSL_ERROR_ZERO_RETURN:
      return lost("the server closed the connection");
    case SSL_ERROR_SYSCALL:
      return lost("the server closed the connection: " + why(errno));
    default:
      return lost("TLS: " + tls_complaint());
  }
}

Result<std::size_t> Stream::write(std::string_view bytes) {
  if (bytes.empty()) return std::size_t{0};
  if (tls_ != nullptr) {
    ERR_clear_error();
    std::size_t taken = 0;
    const int result = SSL_write_ex(tls_, bytes.data(), bytes.size(), &taken);
    return tls_result(result, taken);
  }
  const auto taken = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (taken >= 0) return static_cast<std::size_t>(taken);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return std::size_t{0};
  return lost("cannot write: " + why(errno));
}

Result<std::size_t> Stream::read(std::span<char> into) {
  if (tls_ != nullptr) {
    ERR_clear_error();
    std::size_t got = 0;
    const int result = SSL_read_ex(tls_, into.data(), into.size(), &got);
    return tls_result(result, got);
  }
  const auto got = ::recv(fd_, into.data(), into.size(), 0);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got == 0) return lost("the server closed the connection");
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return std::size_t{0};
  return lost("the server closed the connection: " + why(errno));
}

Status Stream::wait(short events, BootTime deadline, const Clock& clock) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.boot_now());
    if (left.count() <= 0) return lost("no answer within the time allowed");
    constexpr std::chrono::milliseconds longest = std::chrono::hours(1);
    pollfd one{fd_, events, 0};
    if (poll(&one, 1, static_cast<int>(std::min(left, longest).count())) > 0) return {};
  }
}

Status Stream::write_all(std::string_view bytes, BootTime deadline, const Clock& clock) {
  while (!bytes.empty()) {
    const auto taken = write(bytes);
    if (!taken) return taken.error();
    bytes.remove_prefix(*taken);
    if (bytes.empty()) break;
    if (auto ready = wait(POLLOUT, deadline, clock); !ready) return ready;
  }
  return {};
}

Result<std::size_t> Stream::read_some(std::span<char> into, BootTime deadline, const Clock& clock) {
  for (;;) {
    auto got = read(into);
    if (!got || *got > 0) return got;
    if (auto ready = wait(POLLIN, deadline, clock); !ready) return ready.error();
  }
}

}  // namespace sagabox::transports
