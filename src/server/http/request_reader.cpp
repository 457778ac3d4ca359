#include "server/http/request_reader.hpp"

#include "core/text.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <array>

namespace sagabox::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using ErrorCode = boost::system::error_code;
using Header = http::request<http::string_body>;

/// Allowed at most once: two readers could otherwise use different values.
constexpr std::array single_fields{http::field::host, http::field::content_length,
                                   http::field::transfer_encoding, http::field::authorization,
                                   http::field::content_type};

/// The size of the last chunk; every chunked body has at least this much left. The parser requires
/// it.
constexpr std::size_t chunk_bytes_min = std::string_view("0\r\n\r\n").size();

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool uses_no_body(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "DELETE";
}

std::string too_long(std::string_view what, std::size_t bytes_max) {
  return std::string(what) + " is longer than " + std::to_string(bytes_max) + " bytes";
}

Request head_of(const Header& header) {
  Request request;
  request.method = view(header.method_string());
  request.target = view(header.target());
  for (const auto& field : header) {
    request.headers.emplace_back(lower_case(view(field.name_string())), view(field.value()));
  }
  return request;
}

std::optional<ReadProblem> problem_of(const Header& header) {
  for (const auto field : single_fields) {
    if (header.count(field) > 1) {
      return ReadProblem{400, "there is more than one " + std::string(view(to_string(field)))};
    }
  }
  const bool old = header.version() < 11;
  if (!old && header.count(http::field::host) == 0) {
    return ReadProblem{400, "a request needs a Host header"};
  }
  // The parser also accepts a list.
  const auto length = view(header[http::field::content_length]);
  if (header.count(http::field::content_length) > 0 && !is_number(length)) {
    return ReadProblem{400, "Content-Length must be one number"};
  }
  if (header.count(http::field::transfer_encoding) == 0) return std::nullopt;
  if (old) return ReadProblem{400, "HTTP/1.0 has no Transfer-Encoding"};
  if (!beast::iequals(header[http::field::transfer_encoding], "chunked")) {
    return ReadProblem{501, "Transfer-Encoding can be chunked and nothing else"};
  }
  return std::nullopt;
}

ReadProblem problem_of(const ErrorCode& error, std::size_t header_bytes_max,
                       std::size_t body_bytes_max) {
  if (error == http::error::header_limit) return {431, too_long("the header", header_bytes_max)};
  if (error == http::error::body_limit) return {413, too_long("the body", body_bytes_max)};
  return {400, "this is not HTTP/1.1: " + error.message()};
}

}  // namespace

struct RequestReader::Parser {
  http::request_parser<http::string_body> beast;
};

RequestReader::RequestReader(const ReaderLimits& limits) : limits_(limits) { next_request(); }
RequestReader::~RequestReader() = default;

void RequestReader::next_request() {
  parser_ = std::make_unique<Parser>();
  parser_->beast.header_limit(static_cast<std::uint32_t>(limits_.header_bytes_max));
  parser_->beast.body_limit(limits_.body_bytes_max);
  parser_->beast.eager(false);
  header_bytes_ = 0;
  body_bytes_max_ = limits_.body_bytes_max;
  stage_ = Stage::header;
  request_ = {};
  content_length_.reset();
  chunked_ = expects_continue_ = keep_alive_ = false;
}

void RequestReader::feed(std::string_view bytes) { held_.append(bytes); }

bool RequestReader::is_between() const noexcept {
  return stage_ == Stage::header && header_bytes_ == 0 && held_.empty();
}

std::size_t RequestReader::body_bytes() const noexcept {
  return parser_->beast.get().body().size();
}

RequestReader::Step RequestReader::next() {
  switch (stage_) {
    case Stage::header:
      return read_header();
    case Stage::body:
      return read_body();
    case Stage::done:
      return Step::request;
    case Stage::broken:
      break;
  }
  return Step::problem;
}

RequestReader::Parsed RequestReader::parse() {
  ErrorCode error;
  const auto used = parser_->beast.put(boost::asio::buffer(held_), error);
  held_.erase(0, used);
  if (stage_ == Stage::header) header_bytes_ += used;
  if (!error) return Parsed::went_on;
  if (error == http::error::need_more) return Parsed::needs_more;
  stage_ = Stage::broken;
  problem_ = problem_of(error, limits_.header_bytes_max, body_bytes_max_);
  return Parsed::refused;
}

RequestReader::Step RequestReader::read_header() {
  while (!parser_->beast.is_header_done()) {
    if (held_.empty()) return Step::needs_more;
    const auto parsed = parse();
    if (parsed == Parsed::refused) return Step::problem;
    // The parser drops lines that it has parsed.
    const auto waiting = parsed == Parsed::needs_more ? held_.size() : 0;
    if (header_bytes_ + waiting > limits_.header_bytes_max) {
      return refuse(431, too_long("the header", limits_.header_bytes_max));
    }
    if (parsed == Parsed::needs_more) return Step::needs_more;
  }
  return have_header();
}

RequestReader::Step RequestReader::have_header() {
  auto& parser = parser_->beast;
  if (auto found = problem_of(parser.get())) return refuse(found->status, found->message);
  request_ = head_of(parser.get());
  if (const auto length = parser.content_length()) content_length_ = *length;
  chunked_ = parser.chunked();
  keep_alive_ = parser.keep_alive();
  expects_continue_ = parser.get().version() >= 11 &&
                      beast::iequals(parser.get()[http::field::expect], "100-continue");
  if (uses_no_body(request_.method)) {
    body_bytes_max_ = std::min(limits_.unused_body_bytes_max, limits_.body_bytes_max);
    if (content_length_.value_or(0) > body_bytes_max_) {
      return refuse(413, too_long("the body", body_bytes_max_));
    }
    parser.body_limit(body_bytes_max_);
  }
  parser.eager(true);
  stage_ = Stage::body;
  return Step::header;
}

RequestReader::Step RequestReader::read_body() {
  while (!parser_->beast.is_done()) {
    if (held_.size() < (chunked_ ? chunk_bytes_min : 1)) return Step::needs_more;
    const auto parsed = parse();
    if (parsed == Parsed::refused) return Step::problem;
    if (parsed == Parsed::went_on) continue;
    // Data outside of the body: the header of a chunk, or trailers.
    if (held_.size() > limits_.header_bytes_max) {
      return refuse(431, too_long("the header of a chunk", limits_.header_bytes_max));
    }
    return Step::needs_more;
  }
  request_.body = std::move(parser_->beast.get().body());
  stage_ = Stage::done;
  return Step::request;
}

RequestReader::Step RequestReader::refuse(unsigned status, std::string message) {
  stage_ = Stage::broken;
  problem_ = {status, std::move(message)};
  return Step::problem;
}

}  // namespace sagabox::server
