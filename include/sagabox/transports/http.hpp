#pragma once

#include <sagabox/message.hpp>
#include <sagabox/spi/transport.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Sends messages as HTTP requests: CloudEvents 1.0, signed as Standard Webhooks if a route has a
/// secret. docs/transports/http.md describes the addresses and their settings.
namespace sagabox::http {

/// Returns the headers that authenticate a tenant's messages at a host; empty if none are needed.
/// AUTH.DENIED rejects the message; after other errors it is retried. Called by the sending thread
/// for each message, so it must answer from memory. The headers, and the text of an error, are
/// never logged or shown.
using Credentials =
    std::function<Result<Headers>(const std::string& tenant, const std::string& host)>;

struct Options {
  /// Exceptions to the rule that connections to addresses of private networks are refused:
  /// "10.1.0.0/16", "::1", or a host name, "hooks.internal". Plain http:// is allowed only for
  /// entries of this list.
  std::vector<std::string> allow{};
  /// PEM file with trusted CA certificates; empty: the system's.
  std::string ca_file{};
  Credentials credentials{};
  /// The most requests under way or queued, for all hosts together.
  std::uint32_t in_flight_max = 8192;
  /// The most concurrent requests, for all hosts together.
  std::uint32_t connections_max = 2048;
  /// The most concurrent requests to one host and port, unless the route sets another limit.
  std::uint32_t concurrency = 64;
  /// A connection attempt that takes longer makes the message `unreachable`, whatever its deadline.
  Duration connect_max = std::chrono::seconds(10);
  /// "host:port:address": fixed addresses instead of DNS, as in curl's --resolve.
  std::vector<std::string> resolve{};
  const Clock* clock = &system_clock();
};

/// CONFIG.INVALID names the option that is wrong.
Result<std::unique_ptr<spi::Transport>> open(Options options);

}  // namespace sagabox::http
