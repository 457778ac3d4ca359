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

/// Messages as HTTP requests: CloudEvents 1.0, signed as Standard Webhooks where a route has a
/// secret. docs/transports/http.md has the addresses and their settings.
namespace sagabox::http {

/// The headers that let a tenant's messages in at a host; none when it needs none. AUTH.DENIED
/// rejects the message; other errors make it try again. Called by whoever sends, for each message:
/// answers from memory. Never shown anywhere, nor is the text of its error.
using Credentials =
    std::function<Result<Headers>(const std::string& tenant, const std::string& host)>;

struct Options {
  /// Addresses of private networks are refused where the connection is made. What is needed all the
  /// same: "10.1.0.0/16", "::1", or the name of a host, "hooks.internal". Only what is named here
  /// may be spoken to by http://.
  std::vector<std::string> allow{};
  /// PEM file of those who may vouch for a server; empty: the system's.
  std::string ca_file{};
  Credentials credentials{};
  /// Under way or waiting for their turn, all together.
  std::uint32_t in_flight_max = 8192;
  /// Requests at a time, all hosts together.
  std::uint32_t connections_max = 2048;
  /// Requests at a time to one host and port, unless the route says otherwise.
  std::uint32_t concurrency = 64;
  /// Longer is unreachable, whatever the deadline.
  Duration connect_max = std::chrono::seconds(10);
  /// "host:port:address": names that are not looked up, as in curl's --resolve.
  std::vector<std::string> resolve{};
  const Clock* clock = &system_clock();
};

/// CONFIG.INVALID names the option that is wrong.
Result<std::unique_ptr<spi::Transport>> open(Options options);

}  // namespace sagabox::http
