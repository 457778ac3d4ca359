#include "server/http/request_watch.hpp"

#include "observe/metric_names.hpp"

#include <array>

namespace sagabox::server {
namespace {

/// Clients may send any method.
constexpr std::size_t method_length_max = 16;

std::string_view status_class(unsigned status) {
  constexpr std::array<std::string_view, 4> names{"2xx", "3xx", "4xx", "5xx"};
  return status >= 200 && status < 600 ? names.at(status / 100 - 2) : std::string_view("other");
}

}  // namespace

RequestWatch::RequestWatch(Metrics& metrics, Logger& log, LogLevel level)
    : metrics_(metrics),
      log_(log),
      level_(level),
      connections_(metrics.gauge(metric::rest_connections, Labels{})) {}

void RequestWatch::answered(const AnsweredRequest& answered) {
  const auto seconds = std::chrono::duration<double>(answered.took).count();
  metrics_
      .counter(metric::rest_requests_total,
               {{"operation", answered.operation}, {"status", status_class(answered.status)}})
      .increment();
  metrics_.histogram(metric::rest_request_seconds, {{"operation", answered.operation}})
      .observe(seconds);
  if (!log_.enabled(level_)) return;
  // The path and the query are omitted: they contain keys and ids of tenants. The API key is
  // omitted, too.
  log_.log(level_, "request",
           {{"method", answered.method.substr(0, method_length_max)},
            {"operation", answered.operation},
            {"status", std::uint64_t{answered.status}},
            {"seconds", seconds},
            {"key", answered.key_id},
            {"request_id", answered.request_id}});
}

}  // namespace sagabox::server
