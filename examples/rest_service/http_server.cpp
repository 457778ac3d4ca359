#include "http_server.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::use_awaitable;
using asio::ip::tcp;

using Handler = std::function<Answer(const Request&)>;

constexpr int threads = 4;
constexpr std::uint64_t body_bytes_max = 64 * 1024;
constexpr auto read_max = std::chrono::seconds(30);

/// One connection: request after request, until the client leaves, errs or says nothing for too
/// long.
asio::awaitable<void> talk(tcp::socket socket, const Handler& answer) {
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer;
  for (bool keep = true; keep;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(body_bytes_max);
    stream.expires_after(read_max);
    co_await http::async_read(stream, buffer, parser, use_awaitable);
    const auto& request = parser.get();
    keep = request.keep_alive();

    const Answer answered = answer({.method = std::string(request.method_string()),
                                    .path = std::string(request.target()),
                                    .idempotency_key = std::string(request["Idempotency-Key"]),
                                    .body = request.body()});
    http::response<http::string_body> response(http::int_to_status(answered.status),
                                               request.version());
    response.set(http::field::content_type, "application/json");
    response.keep_alive(keep);
    response.body() = answered.body;
    response.prepare_payload();
    co_await http::async_write(stream, response, use_awaitable);
  }
}

asio::awaitable<void> listen(tcp::acceptor& acceptor, const Handler& answer) {
  const auto ended = [](const std::exception_ptr&) {};  // a client that leaves is no trouble
  for (;;) {
    auto socket = co_await acceptor.async_accept(use_awaitable);
    asio::co_spawn(acceptor.get_executor(), talk(std::move(socket), answer), ended);
  }
}

}  // namespace

void serve(std::uint16_t port, const std::function<void(std::uint16_t port)>& ready,
           const Handler& answer) {
  asio::io_context context(threads);
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](const auto&, int) { context.stop(); });
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  asio::co_spawn(context, listen(acceptor, answer), asio::detached);
  ready(acceptor.local_endpoint().port());

  std::vector<std::jthread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back([&] { context.run(); });
  context.run();
}
