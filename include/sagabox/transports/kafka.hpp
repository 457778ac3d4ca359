#pragma once

#include <sagabox/spi/transport.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// Apache Kafka, through librdkafka's idempotent producer. Addresses are topics: `kafka:orders`.
namespace sagabox::kafka {

struct Options {
  std::string brokers{"127.0.0.1:9092"};  ///< host:port, host:port …
  /// librdkafka's own settings by their names: `security.protocol`, `sasl.password`, `linger.ms` …
  /// Settings that the delivery guarantees depend on (`acks`, `enable.idempotence`) cannot be
  /// changed.
  std::vector<std::pair<std::string, std::string>> properties{};

  /// The delay between attempts while no broker can be reached, doubled each time up to the
  /// maximum.
  Duration backoff_min = std::chrono::milliseconds(50);
  Duration backoff_max = std::chrono::seconds(2);

  std::uint32_t in_flight_max = 2048;
  /// Brokers accept 1 MiB by default, including headers: this leaves room for our headers and a few
  /// of the application's. To raise it, raise the property `message.max.bytes` too.
  std::size_t payload_bytes_max = MessageRules::payload_bytes_ceiling - 16UL * 1024;

  const Clock* clock = &system_clock();
};

/// Does not connect. CONFIG.INVALID says what is wrong with the options, without showing a value.
Result<std::unique_ptr<spi::Transport>> open(Options options);

}  // namespace sagabox::kafka
