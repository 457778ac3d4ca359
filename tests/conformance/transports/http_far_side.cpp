#include "conformance/transports/transport_conformance.hpp"
#include "support/http_server.hpp"

#include <sagabox/transports/http.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace sagabox::testing {
namespace {

constexpr std::string_view refusing_path = "/refuse";

/// What HTTP and the transport say for themselves.
constexpr std::array<std::string_view, 9> not_the_authors = {
    "host",        "user-agent", "accept",       "content-length",  "content-type",
    "traceparent", "tracestate", "x-request-id", "x-correlation-id"};

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
            text.data() + i + 3) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

Arrived arrived_in_request(const HttpRequest& request) {
  Arrived arrived{.payload = request.body, .content_type = request.header("content-type")};
  for (const auto& [name, value] : request.headers) {
    if (name.starts_with("ce-")) {
      arrived.attributes.emplace_back(name.substr(3), percent_decoded(value));
    } else if (std::ranges::find(not_the_authors, name) == not_the_authors.end()) {
      arrived.headers.emplace_back(name, value);
    }
  }
  return arrived;
}

/// A server in this process, spoken to over loopback.
class HttpSide final : public FarSide {
 public:
  std::unique_ptr<spi::Transport> open() override {
    return http::open({.allow = {"127.0.0.0/8"}, .connect_max = connect_max}).value();
  }
  std::string fresh_address() override { return server_.url("/" + std::to_string(++last_)); }
  std::vector<Arrived> arrived(const std::string& address, std::size_t count) override {
    std::vector<Arrived> all;
    for (const auto& request : server_.requests(path_of(address), count)) {
      all.push_back(arrived_in_request(request));
    }
    return all;
  }
  std::optional<std::string> refusing_address() override { return server_.url(refusing_path); }
  bool stop() override {
    server_.stop();
    return true;
  }
  void start() override { server_.start(); }
  bool stall() override {
    server_.stall();
    return true;
  }
  void go_on() override { server_.go_on(); }

 private:
  [[nodiscard]] std::string path_of(const std::string& address) const {
    return address.substr(server_.url("").size());
  }

  HttpServer server_{[](const HttpRequest& request) {
    return HttpReply{.status = request.path == refusing_path ? 422U : 204U};
  }};
  int last_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Http, TransportConformance,
                         ::testing::Values(FarSideCase{
                             "Http", [] { return std::make_unique<HttpSide>(); }}),
                         case_name);

}  // namespace
}  // namespace sagabox::testing
