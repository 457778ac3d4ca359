// A REST service whose work happens somewhere else: it charges cards at a provider.
//
//   curl -d '{"cents": 4200}' -H 'Idempotency-Key: 42' localhost:8080/charges
//
// charges once, however often it is sent with the same key; a repetition gets the first answer.
// `sagabox::beast::once` is all that is needed for that. (rest_service/ has the case in which all
// of the work is in one database.)

#include <sagabox/open.hpp>
#include <sagabox/servers/beast.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <syncstream>
#include <thread>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using sagabox::beast::Request;
using sagabox::beast::Response;

/// Stands for the provider.
Response charge(const Request& request) {
  static std::atomic<int> charges = 0;
  const auto number = std::to_string(++charges);
  std::osyncstream(std::cout) << "charge " << number << ": " << request.body() << '\n'
                              << std::flush;
  Response response(http::status::created, request.version());
  response.set(http::field::content_type, "application/json");
  response.set(http::field::location, "/charges/" + number);
  response.body() = R"({"charge": )" + number + "}";
  return response;
}

Response answer(sagabox::HttpIdempotency& keys, const Request& request) {
  if (request.method() == http::verb::post && request.target() == "/charges") {
    return sagabox::beast::once(keys, request, {.caller = "shop"}, charge);
  }
  Response response(http::status::not_found, request.version());
  response.body() = "there is only POST /charges\n";
  return response;
}

/// Request after request, until the client leaves.
void talk(tcp::socket socket, sagabox::HttpIdempotency& keys) {
  boost::beast::flat_buffer buffer;
  boost::system::error_code ended;
  for (bool keep = true; keep && !ended;) {
    Request request;
    http::read(socket, buffer, request, ended);
    if (ended) return;
    auto response = answer(keys, request);
    keep = request.keep_alive();
    response.keep_alive(keep);
    response.prepare_payload();
    http::write(socket, response, ended);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto store = sagabox::open_store(argc > 1 ? argv[1] : "sqlite:charges.db").value();
  const auto port = static_cast<std::uint16_t>(argc > 2 ? std::atoi(argv[2]) : 8080);
  store->idempotency()->prepare().value();
  sagabox::HttpIdempotency keys(*store->idempotency(), {.service = "charges", .required = true});

  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  std::cout << "listening on http://127.0.0.1:" << acceptor.local_endpoint().port() << "/charges\n"
            << std::flush;
  for (;;) {
    std::thread(talk, acceptor.accept(), std::ref(keys)).detach();
  }
}
