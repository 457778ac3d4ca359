#pragma once

#include "transports/http/address_guard.hpp"
#include "transports/http/exchange.hpp"

#include <curl/curl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::http {

/// Notified about the sockets of connections: a number may be reused later.
class SocketWatch {
 public:
  virtual ~SocketWatch() = default;
  virtual void opened(int socket, const Endpoint* to) = 0;
  /// Called before the socket is closed.
  virtual void closed(int socket) = 0;
  /// The connection being processed carries several requests at a time (HTTP/2).
  virtual void is_shared() = 0;
};

/// Settings shared by all handles of a transport; must outlive them.
struct HandleSettings {
  const AddressGuard& guard;
  const std::string& ca_file;
  Duration connect_max{};
  curl_slist* resolve = nullptr;
  SocketWatch& watch;
};

/// An easy handle of libcurl, used for one exchange after another. Never follows redirects, never
/// uses a proxy, and keeps nothing of an answer but its status, Retry-After, and what the parcel
/// asks for.
class Handle {
 public:
  /// Throws std::bad_alloc.
  explicit Handle(const HandleSettings& settings);
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  [[nodiscard]] CURL* easy() const noexcept { return easy_.get(); }
  [[nodiscard]] Exchange* exchange() const noexcept { return exchange_; }

  /// `exchange` must live until `end`. Throws std::bad_alloc; then it has not begun.
  void begin(Exchange& exchange);
  /// The result, with the answer if it was requested; call it once. Without a code the request was
  /// cancelled at its deadline.
  [[nodiscard]] spi::SendResult result(std::optional<CURLcode> code, WallTime now);
  void end();

  static Handle& of(CURL* easy);

 private:
  struct Cleanup {
    void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
  };

  void set_bounds();
  void set_functions();
  curl_socket_t open_socket(const curl_sockaddr& address);
  std::size_t header(std::string_view line);
  std::size_t content(std::string_view piece);
  [[nodiscard]] int status() const;
  [[nodiscard]] spi::Reach reach() const;
  std::shared_ptr<const spi::Answer> take_answer(std::optional<CURLcode> code);

  const HandleSettings& settings_;
  std::unique_ptr<CURL, Cleanup> easy_;
  Exchange* exchange_ = nullptr;
  std::shared_ptr<const HttpAddress> address_;  // the address whose URL is set
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::string retry_after_;
  std::string refusal_;
  std::uint32_t sendings_ = 0;  // of this exchange
  std::size_t header_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  std::string body_;      // as much of it as the parcel needs
  bool allowed_ = false;  // the guard allowed at least one address
};

}  // namespace sagabox::http
