#pragma once

#include <sagabox/delivery.hpp>
#include <sagabox/log.hpp>
#include <sagabox/message.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Spans of deliveries for distributed tracing. docs/tracing.md describes their content.
namespace sagabox {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

struct SpanAttribute {
  std::string_view name;  ///< a literal
  std::variant<std::string, std::int64_t> value;
};

/// An operation and its duration, as part of a trace.
struct TraceSpan {
  TraceId trace{};
  SpanId id{};
  SpanId parent{};  ///< zeros: no parent
  std::string tracestate{};
  std::string name{};
  WallTime started{};
  Duration lasted{};
  std::vector<SpanAttribute> attributes{};
  bool failed = false;
  std::string error{};  ///< why it failed
};

/// Receives spans. Safe to call from any thread; returns at once.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void take(TraceSpan span) noexcept = 0;
};

struct TracingOptions {
  SpanSink* spans = nullptr;  ///< outlives the interceptor
  /// The ratio for messages that were written without a trace. Messages with a trace have a span if
  /// and only if their trace is sampled.
  double sample_ratio = 1;
  /// The same value as in the outbox.
  Duration dispatch_timeout = std::chrono::seconds(30);
  const Clock* clock = &system_clock();
  Random* random = &system_random();
};

/// For `OutboxOptions::interceptors`: records a span for each attempt to deliver a message. A
/// message that is deferred without an attempt (its destination is down, a limit is reached) has
/// none.
std::shared_ptr<Interceptor> trace_deliveries(const TracingOptions& options);

struct OtlpOptions {
  /// "http://127.0.0.1:4318": without a path, /v1/traces is added.
  std::string endpoint{};
  std::string service_name = "sagabox";
  /// The complete value of the Authorization header.
  std::string authorization{};
  Headers headers{};
  /// Further attributes of this process: "deployment.environment.name".
  Headers resource{};
  std::string ca_file{};  ///< trusted CA certificates; empty: the system's

  std::uint32_t queue_capacity = 8192;  ///< spans; more are dropped and counted
  std::uint32_t batch_max = 512;        ///< spans of one request
  Duration batch_delay = std::chrono::seconds(1);
  Duration timeout = std::chrono::seconds(10);  ///< of one request
  std::uint32_t attempts_max = 5;               ///< then the batch is dropped
  /// How long `stop` continues to send; remaining spans are dropped.
  Duration flush_max = std::chrono::seconds(2);

  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();

  /// Names the option that is wrong and what would be right.
  [[nodiscard]] Status check() const;
};

/// Sends spans to a collector: OTLP over HTTP, as JSON. Uses its own thread; if the collector is
/// down, slow or overloaded, spans are dropped and nothing else is affected.
class OtlpExporter : public SpanSink {
 public:
  /// CONFIG.INVALID names the option that is wrong; a build without libcurl has no exporter.
  static Result<std::unique_ptr<OtlpExporter>> open(OtlpOptions options);
  /// Sends the remaining spans, for at most `flush_max` plus about a second. Later spans are
  /// dropped.
  virtual void stop() = 0;
};

}  // namespace sagabox
