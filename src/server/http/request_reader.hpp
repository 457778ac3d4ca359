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
  /// Of methods whose body means nothing: GET, HEAD, DELETE.
  std::size_t unused_body_bytes_max = 0;
};

/// Why a request cannot be read; the connection ends with this answer.
struct ReadProblem {
  unsigned status = 400;
  std::string message;
};

/// HTTP/1.1 requests out of bytes, one after the other, without a socket. Strict: what two readers
/// could understand differently is refused.
///
/// Holds at most the limits above and what was fed at once.
class RequestReader {
 public:
  enum class Step : std::uint8_t {
    needs_more,  ///< `feed` before the next call
    header,      ///< once a request: everything but the body is there; `next` goes on
    request,     ///< all of it is there; `next_request` before the next call
    problem,     ///< nothing more can be read
  };

  explicit RequestReader(const ReaderLimits& limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  void feed(std::string_view bytes);
  Step next();
  /// Goes on with what was fed behind the request before.
  void next_request();

  /// Nothing of the next request has been fed.
  [[nodiscard]] bool is_between() const noexcept;

  /// After `header`; without the body before `request`. Trailers of a chunked body are left out.
  [[nodiscard]] const Request& request() const noexcept { return request_; }
  Request take_request() { return std::move(request_); }
  /// Of a body that says so.
  [[nodiscard]] std::optional<std::uint64_t> content_length() const noexcept {
    return content_length_;
  }
  [[nodiscard]] bool announces_body() const noexcept {
    return chunked_ || content_length_.value_or(0) > 0;
  }
  /// So much of it has come.
  [[nodiscard]] std::size_t body_bytes() const noexcept;
  /// The client waits to be told to send its body.
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
  /// Lets the parser take what it can of what is held.
  Parsed parse();

  ReaderLimits limits_;
  std::unique_ptr<Parser> parser_;
  std::string held_;  // fed and not yet parsed
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
