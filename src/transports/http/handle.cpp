#include "transports/http/handle.hpp"

#include "transports/http/answer.hpp"
#include "transports/http/bounds.hpp"
#include "transports/http/header_rules.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

namespace sagabox::http {
namespace {

constexpr std::size_t header_bytes_max = 64UL * 1024;
/// A body is read to its end so that the connection can be reused; a longer body is not worth it,
/// unless the parcel needs more.
constexpr std::size_t body_bytes_max = 64UL * 1024;
constexpr long buffer_bytes = 4096;
/// How long sent data may stay unacknowledged by the other host.
constexpr unsigned unacknowledged_ms_max = 20'000;
constexpr std::size_t retry_after_bytes_max = 64;
constexpr std::string_view retry_after_name = "retry-after:";

/// True for the status of an answer, not for one that precedes it ("100 Continue").
bool is_final(int status) { return status >= 200; }

bool is_ip_address(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return IpAddress::parse(std::string(host)).has_value();
}

}  // namespace

Handle::Handle(const HandleSettings& settings) : settings_(settings), easy_(curl_easy_init()) {
  if (!easy_) throw std::bad_alloc();
  set_bounds();
  set_functions();
}

void Handle::set_bounds() {
  auto* const easy = easy_.get();
  http::set_bounds(easy, {.ca_file = settings_.ca_file, .connect_max = settings_.connect_max});
  // A libcurl without HTTP/2 refuses this: it uses HTTP/1.1, and `findings` reports it.
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(easy, CURLOPT_BUFFERSIZE, buffer_bytes);
  if (settings_.resolve != nullptr) set(easy, CURLOPT_RESOLVE, settings_.resolve);
}

void Handle::set_functions() {
  using Write = std::size_t (*)(char*, std::size_t, std::size_t, void*);
  using OpenSocket = curl_socket_t (*)(void*, curlsocktype, curl_sockaddr*);
  using CloseSocket = int (*)(void*, curl_socket_t);
  using Ready = int (*)(void*, char*, char*, int, int);
  auto* const easy = easy_.get();
  set(easy, CURLOPT_PRIVATE, this);
  set(easy, CURLOPT_ERRORBUFFER, error_.data());
  set(easy, CURLOPT_HEADERDATA, this);
  set(easy, CURLOPT_HEADERFUNCTION,
      Write([](char* line, std::size_t size, std::size_t count, void* self) {
        return static_cast<Handle*>(self)->header({line, size * count});
      }));
  set(easy, CURLOPT_WRITEDATA, this);
  set(easy, CURLOPT_WRITEFUNCTION,
      Write([](char* piece, std::size_t size, std::size_t count, void* self) {
        return static_cast<Handle*>(self)->content({piece, size * count});
      }));
  // Called whenever a connection is ready and the request is about to be sent.
  set(easy, CURLOPT_PREREQDATA, this);
  set(easy, CURLOPT_PREREQFUNCTION, Ready([](void* self, char*, char*, int, int) {
        ++static_cast<Handle*>(self)->sendings_;
        return CURL_PREREQFUNC_OK;
      }));
  set(easy, CURLOPT_OPENSOCKETDATA, this);
  set(easy, CURLOPT_OPENSOCKETFUNCTION,
      OpenSocket([](void* self, curlsocktype, curl_sockaddr* address) {
        return static_cast<Handle*>(self)->open_socket(*address);
      }));
  // The connection, and with it the socket, outlives this handle.
  set(easy, CURLOPT_CLOSESOCKETDATA, &settings_.watch);
  set(easy, CURLOPT_CLOSESOCKETFUNCTION, CloseSocket([](void* watch, curl_socket_t socket) {
        static_cast<SocketWatch*>(watch)->closed(socket);
        return close(socket);
      }));
}

void Handle::begin(Exchange& exchange) {
  auto* const easy = easy_.get();
  const auto& address = *exchange.address;
  if (address_ != exchange.address) {
    address_.reset();  // if setting it up fails, the handle has neither URL
    set(easy, CURLOPT_URL, address.url.c_str());
    const char* const other = address.method == "POST" ? nullptr : address.method.c_str();
    set(easy, CURLOPT_CUSTOMREQUEST, other);
    // If a connection may carry many requests, wait for it instead of opening many.
    set(easy, CURLOPT_PIPEWAIT, address.encrypted ? 1L : 0L);
    address_ = exchange.address;
  }
  const auto body = exchange.request.body();
  set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(easy, CURLOPT_POSTFIELDS, body.empty() ? "" : body.data());
  set(easy, CURLOPT_HTTPHEADER, exchange.request.headers());
  // If a reused connection is closed before the answer, libcurl sends the request again on another
  // one, though the first may have been processed. It never does that with a new connection.
  set(easy, CURLOPT_FRESH_CONNECT, exchange.parcel.once ? 1L : 0L);
  exchange_ = &exchange;
  exchange.handle = this;
  error_.front() = '\0';
  retry_after_.clear();
  refusal_.clear();
  sendings_ = 0;
  header_bytes_ = 0;
  body_bytes_ = 0;
  body_.clear();
  allowed_ = false;
}

void Handle::end() {
  exchange_->handle = nullptr;
  exchange_ = nullptr;
}

Handle& Handle::of(CURL* easy) {
  char* self = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
  return *reinterpret_cast<Handle*>(self);
}

int Handle::status() const {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

spi::Reach Handle::reach() const {
  if (is_final(status())) return spi::Reach::answered;
  // Requests that libcurl sent again are counted twice, so the sum is never too low.
  long request_bytes = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_REQUEST_SIZE, &request_bytes);
  return request_bytes > 0 ? spi::Reach::sent : spi::Reach::not_sent;
}

spi::SendResult Handle::result(std::optional<CURLcode> code, WallTime now) {
  const auto reached = reach();
  spi::SendResult result;
  if (const auto came = status(); came < 200 || came >= 300) {
    const auto said = code ? what_libcurl_says(easy_.get(), *code, error_.data()) : std::string();
    result = judge({.host = address_->host,
                    .curl_code = code.value_or(CURLE_OK),
                    .curl_error = said,
                    .status = came,
                    .retry_after = retry_after_,
                    .refusal = allowed_ ? std::string_view() : refusal_,
                    .is_name = !is_ip_address(address_->host),
                    .past_deadline = !code,
                    .request_sent = reached != spi::Reach::not_sent},
                   now);
  }
  result.reach = reached;
  result.resent = sendings_ > 1;
  if (reached == spi::Reach::answered && exchange_->parcel.answer_bytes_max > 0) {
    result.answer = take_answer(code);
  }
  return result;
}

std::shared_ptr<const spi::Answer> Handle::take_answer(std::optional<CURLcode> code) {
  using Body = spi::Answer::Body;
  const auto end = body_bytes_ > body_.size() ? Body::cut
                   : code == CURLE_OK         ? Body::complete
                                              : Body::ended;
  return std::make_shared<const spi::Answer>(
      spi::Answer{.status = status(), .body = std::exchange(body_, {}), .end = end});
}

curl_socket_t Handle::open_socket(const curl_sockaddr& address) {
  const auto ip = IpAddress::of(address.addr, address.addrlen);
  if (!ip) {
    refusal_ = "the address of " + address_->host + " is not one of the internet";
    return CURL_SOCKET_BAD;
  }
  auto refusal = settings_.guard.refusal({address_->host, *ip, address_->encrypted});
  if (!refusal.empty()) {
    refusal_ = std::move(refusal);
    return CURL_SOCKET_BAD;
  }
  allowed_ = true;
  const auto number = socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
  if (number < 0) return CURL_SOCKET_BAD;
  // A connection to a host that is gone must not be reused.
  setsockopt(number, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms_max,
             sizeof unacknowledged_ms_max);
  settings_.watch.opened(number, address_->endpoint.get());
  return number;
}

std::size_t Handle::header(std::string_view line) {
  if (line.starts_with("HTTP/2")) settings_.watch.is_shared();
  header_bytes_ += line.size();
  if (header_bytes_ > header_bytes_max) return 0;
  if (same_name(line.substr(0, retry_after_name.size()), retry_after_name)) {
    retry_after_ = line.substr(retry_after_name.size(), retry_after_bytes_max);
  }
  return line.size();
}

std::size_t Handle::content(std::string_view piece) {
  const auto wanted = exchange_->parcel.answer_bytes_max;
  body_bytes_ += piece.size();
  if (body_.size() < wanted) {
    try {
      body_ += piece.substr(0, wanted - body_.size());
    } catch (const std::bad_alloc&) {
      return 0;  // the transfer ends, and the body counts as truncated
    }
  }
  return body_bytes_ > std::max(wanted, body_bytes_max) ? 0 : piece.size();
}

}  // namespace sagabox::http
