#pragma once

#include "server/http/request.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::server {

struct ReaderLimits {
  std::size_t header_bytes_max = 0;
  std::size_t body_bytes_max = 0;
  /// For methods that ignore the body: GET, HEAD, DELETE.
  std::size_t unused_body_bytes_max = 0;
};

/// Why a request cannot be read; the connection ends with this answer.
struct ReadProblem {
  unsigned status = 400;
  std::string message;
};

/// Reads HTTP/1.1 requests from bytes, one after the other, without a socket. Strict: a request
/// that two readers could interpret differently is refused.
///
/// Holds at most the limits above and the data of one `feed`.
class RequestReader {
 public:
  enum class Step : std::uint8_t {
    needs_more,  ///< call `feed` before the next call
    header,      ///< once a request: everything except the body was read; `next` continues
    request,     ///< the request is complete; call `next_request` before the next call
    problem,     ///< no more can be read
  };

  explicit RequestReader(const ReaderLimits& limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  void feed(std::string_view bytes);
  Step next();
  /// Continues with data that was fed after the previous request.
  void next_request();

  /// True if nothing of the next request was fed.
  [[nodiscard]] bool is_between() const noexcept;

  /// Valid after `header`; without the body before `request`. Trailers of a chunked body are
  /// dropped.
  [[nodiscard]] const Request& request() const noexcept { return request_; }
  Request take_request() { return std::move(request_); }
  /// Nullopt if the request does not announce it.
  [[nodiscard]] std::optional<std::uint64_t> content_length() const noexcept {
    return content_length_;
  }
  [[nodiscard]] bool announces_body() const noexcept {
    return chunked_ || content_length_.value_or(0) > 0;
  }
  /// How much of the body was read.
  [[nodiscard]] std::size_t body_bytes() const noexcept;
  /// True if the client waits for permission to send its body.
  [[nodiscard]] bool expects_continue() const noexcept { return expects_continue_; }
  [[nodiscard]] bool keep_alive() const noexcept { return keep_alive_; }

  [[nodiscard]] const ReadProblem& problem() const noexcept { return problem_; }

 private:
  struct Parser;
  enum class Stage : std::uint8_t { header, body, done, broken };
  enum class Parsed : std::uint8_t { went_on, needs_more, refused };

  Step read_header();
  Step read_body();
  Step have_header();
  Step refuse(unsigned status, std::string message);
  /// Passes the held data to the parser.
  Parsed parse();

  ReaderLimits limits_;
  std::unique_ptr<Parser> parser_;
  std::string held_;  // fed but not parsed yet
  std::size_t header_bytes_ = 0;
  std::size_t body_bytes_max_ = 0;
  Stage stage_ = Stage::header;
  Request request_;
  std::optional<std::uint64_t> content_length_;
  bool chunked_ = false;
  bool expects_continue_ = false;
  bool keep_alive_ = false;
  ReadProblem problem_;
};

}  // namespace sagabox::server
