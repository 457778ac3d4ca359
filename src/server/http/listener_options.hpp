#pragma once

#include "server/http/tls_files.hpp"

#include <sagabox/log.hpp>
#include <sagabox/message.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sagabox::server {

struct ListenerOptions {
  /// A numeric address, or localhost.
  std::string address = "127.0.0.1";
  std::uint16_t port = 8700;  ///< 0: any free one
  std::optional<TlsFiles> tls{};

  std::uint32_t io_threads = 1;
  std::uint32_t workers = 4;            ///< requests that wait for a store at the same time
  std::uint32_t worker_queue_max = 64;  ///< waiting for a worker; more get a retry hint
  std::uint32_t connections_max = 1024;

  /// A payload of the largest size in base64, and its other fields.
  std::size_t body_bytes_max = MessageRules::payload_bytes_ceiling / 3 * 4 + 256UL * 1024;
  /// For methods that ignore the body: GET, HEAD, DELETE.
  std::size_t unused_body_bytes_max = 16UL * 1024;
  /// For all requests together that are being read or wait for a worker.
  std::size_t bodies_bytes_max = 64UL * 1024 * 1024;
  std::uint32_t header_bytes_max = 16 * 1024;

  /// Each limits the whole phase: sending a byte from time to time does not extend it.
  Duration header_timeout = std::chrono::seconds(10);  ///< from its first byte; also for TLS
  Duration body_timeout = std::chrono::seconds(30);
  Duration idle_timeout = std::chrono::seconds(60);  ///< between requests
  Duration answer_timeout = std::chrono::seconds(60);
  Duration write_timeout = std::chrono::seconds(30);
  /// How long a client may continue to send after a last answer; closing at once could lose that
  /// answer.
  Duration linger_timeout = std::chrono::seconds(2);
  Duration stop_timeout = std::chrono::seconds(10);

  /// These must outlive the listener.
  Logger* log = &no_log();
  Metrics* metrics = &no_metrics();
  const Clock* clock = &system_clock();
  LogLevel request_log = LogLevel::debug;  ///< of the line that is logged for each request

  /// An error names the option that is wrong.
  [[nodiscard]] Status check() const;
};

/// The numeric address for localhost.
std::string numeric_address(const std::string& address);
/// Whether the address can be reached from this machine only; CONFIG.INVALID if it is not an
/// address.
Result<bool> is_loopback(const std::string& address);

}  // namespace sagabox::server
