#pragma once

#include "transports/http/address.hpp"

#include <curl/curl.h>

#include <string>
#include <string_view>
#include <vector>

namespace sagabox::http {

/// The HTTP request of a parcel. Reused, so it keeps its memory. The payload is referred to, not
/// copied, except in structured mode.
class Request {
 public:
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  struct Contents {
    const spi::Parcel& parcel;
    const HttpAddress& address;
    const Headers& credentials;
    WallTime now;
  };
  /// `credentials` have been checked. The parcel's message and the address must outlive its use.
  void prepare(const Contents& contents);
  /// Releases large data.
  void clear();

  /// Belongs to the request; libcurl reads it.
  [[nodiscard]] curl_slist* headers() noexcept { return nodes_.data(); }
  [[nodiscard]] std::string_view body() const noexcept { return body_; }

 private:
  /// Skips a value that would end its line and begin another.
  void add_line(std::string_view name, std::string_view value);
  void add_event(const Contents& contents);
  void add_trace(const TraceContext& trace);
  void add_headers_of_author(const Contents& contents);
  void add_signature(const Contents& contents);
  void begin_line(std::string_view prefix, std::string_view name);
  void link_lines();

  std::string text_;  // header lines, each followed by a NUL
  std::vector<std::size_t> lines_;
  std::vector<curl_slist> nodes_;
  std::string event_;
  std::string_view body_;
};

}  // namespace sagabox::http
