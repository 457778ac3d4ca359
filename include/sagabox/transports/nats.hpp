#pragma once

#include <sagabox/spi/transport.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// NATS JetStream, through libnats. Addresses are subjects: `nats:billing.issued`.
namespace sagabox::nats {

struct Tls {
  bool required = false;  ///< `tls://` in a server's URL has the same effect
  std::string ca_file{};  ///< PEM with trusted CA certificates; empty: the system's
  std::string certificate_file{};
  std::string key_file{};
  std::string host_name{};  ///< expected in the certificate; empty: the URL's
};

/// At most one of: user and password, token, credentials file, nkey.
struct Credentials {
  std::string user{};
  std::string password{};
  std::string token{};
  std::string file{};  ///< created by `nsc`, with JWT and seed
  std::string nkey{};  ///< the public key; its seed is in a file
  std::string nkey_seed_file{};
};

struct Options {
  /// One of them is used; other servers of the same cluster are discovered.
  std::vector<std::string> servers{"nats://127.0.0.1:4222"};
  Credentials credentials{};
  Tls tls{};
  /// The client name that the server shows.
  std::string name{"sagabox"};
  /// `$JS.<domain>.API` if the streams are in another domain.
  std::string api_prefix{"$JS.API"};

  Duration connect_max = std::chrono::seconds(2);
  /// The delay between attempts to connect, doubled each time up to the maximum.
  Duration backoff_min = std::chrono::milliseconds(50);
  Duration backoff_max = std::chrono::seconds(2);

  std::uint32_t in_flight_max = 2048;
  /// The server's `max_payload`, 1 MiB by default, includes headers: this leaves room for our
  /// headers and a few of the application's.
  std::size_t payload_bytes_max = MessageRules::payload_bytes_ceiling - 16UL * 1024;

  const Clock* clock = &system_clock();
};

/// Does not connect. CONFIG.INVALID says what is wrong with the options.
Result<std::unique_ptr<spi::Transport>> open(Options options);

}  // namespace sagabox::nats
