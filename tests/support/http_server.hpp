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

/// A request as it came in, header names in lower case.
struct HttpRequest {
  std::string method;
  std::string path;
  Headers headers;
  std::string body;
  /// Empty when it is not there.
  [[nodiscard]] std::string header(std::string_view name) const;
};

struct HttpReply {
  unsigned status = 204;
  Headers headers{};
  std::string body{};
  bool never = false;      ///< the connection stays, no answer comes
  bool hang_up = false;    ///< the connection is cut instead
  bool half_body = false;  ///< the connection is cut behind half of what was announced
};

/// A real HTTP/1.1 server on loopback, on a thread of its own, that remembers what it got.
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

  /// All that came to `path`, in order; waits until there are so many or the time is over.
  std::vector<HttpRequest> requests(std::string_view path, std::size_t count,
                                    Duration patience = std::chrono::seconds(60));
  [[nodiscard]] std::size_t connections_made() const;
  /// The most requests that were waiting for their answers at one time.
  [[nodiscard]] std::size_t most_at_once() const;

  /// Nobody listens on the port, connections are cut; `start` listens there again.
  void stop();
  void start();
  /// Answers nothing and accepts nothing, but stays connected, as if SIGSTOP had come.
  void stall();
  void go_on();
  /// Answers those for whom `never` was said, with 204.
  void answer_held();

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace sagabox::testing
