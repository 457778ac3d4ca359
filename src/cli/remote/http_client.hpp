#pragma once

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace sagabox::cli {

struct HttpRequest {
  /// An act is sent once, over a new connection: libcurl would send it again if a reused connection
  /// turned out to be closed.
  enum class Kind : std::uint8_t { get, look, act };
  Kind kind = Kind::get;  ///< the others are POST
  std::string target{};   ///< "/v1/tables?limit=1"
  std::string body{};     ///< JSON
};

struct HttpAnswer {
  unsigned status = 0;
  std::string content_type{};
  std::string body{};
};

/// Sends requests to one daemon. Calls block, each for a limited time; one at a time.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  /// "http://127.0.0.1:8700"
  [[nodiscard]] virtual const std::string& url() const = 0;
  [[nodiscard]] virtual bool has_key() const = 0;
  /// Returns any answer. PROVIDER.UNAVAILABLE: the daemon was not reached. STORAGE.IN_DOUBT: an act
  /// was sent, and there was no answer.
  virtual Result<HttpAnswer> ask(const HttpRequest& request) = 0;
};

struct HttpOptions {
  std::string url{};      ///< checked by `parse_server`
  std::string key{};      ///< empty: none is sent
  std::string ca_file{};  ///< empty: the certificate authorities of the system
  Duration timeout{};     ///< for a whole request
};
Result<std::unique_ptr<HttpClient>> open_http(HttpOptions options);

}  // namespace sagabox::cli
