#pragma once

#include <sagabox/message.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::testing {

/// A request as received, with header names in lower case.
struct HttpRequest {
  std::string method;
  std::string path;
  Headers headers;
  std::string body;
  /// Empty if it is missing.
  [[nodiscard]] std::string header(std::string_view name) const;
};

struct HttpReply {
  unsigned status = 204;
  Headers headers{};
  std::string body{};
  bool never = false;      ///< no answer is sent, and the connection stays open
  bool hang_up = false;    ///< the connection is closed instead
  bool half_body = false;  ///< the connection is closed after half of the announced body
};

/// A real HTTP/1.1 server on loopback, on a thread of its own, that records its requests.
class HttpServer {
 public:
  /// Called on the server's thread.
  using Handler = std::function<HttpReply(const HttpRequest&)>;
  explicit HttpServer(Handler handler = [](const HttpRequest&) { return HttpReply{}; });
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url(std::string_view path) const;

  /// All requests to `path`, in order; waits until there are `count` or for a time limit.
  std::vector<HttpRequest> requests(std::string_view path, std::size_t count,
                                    Duration patience = std::chrono::seconds(60));
  [[nodiscard]] std::size_t connections_made() const;
  /// The maximum of requests that waited for their answers at the same time.
  [[nodiscard]] std::size_t most_at_once() const;

  /// Closes the port and all connections; `start` listens there again.
  void stop();
  void start();
  /// Answers and accepts nothing, but keeps its connections, as after SIGSTOP.
  void stall();
  void go_on();
  /// Sends 204 to the requests that got `never`.
  void answer_held();

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace sagabox::testing
