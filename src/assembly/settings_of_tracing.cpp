#include "assembly/settings_of_tracing.hpp"

#include "assembly/configuration.hpp"
#include "assembly/describe.hpp"

namespace sagabox::assembly {
namespace {

using Parts = std::vector<Setting>;
using T = TracingSettings;

void add_collector(Parts& parts) {
  parts.push_back(value<T>(
                      "endpoint", [](auto& t) -> auto& { return t.otlp.endpoint; },
                      "of a collector that speaks OTLP over HTTP, `http://127.0.0.1:4318`; without "
                      "a path `/v1/traces` is added. Default: none, and no spans")
                      .hidden(Setting::Secret::password_of_url));
  parts.push_back(value<T>(
      "service_name", [](auto& t) -> auto& { return t.otlp.service_name; },
      "what this daemon is called in traces"));
  parts.push_back(pairs<T>(
      "resource", [](auto& t) -> auto& { return t.otlp.resource; },
      "what else describes it: `{ deployment.environment.name: production }`"));
  parts.push_back(value<T>(
                      "authorization", [](auto& t) -> auto& { return t.otlp.authorization; },
                      "value of that header, such as `Bearer …`")
                      .hidden());
  parts.push_back(pairs<T>(
                      "headers", [](auto& t) -> auto& { return t.otlp.headers; },
                      "others that the collector wants")
                      .hidden());
  parts.push_back(value<T>(
      "ca_file", [](auto& t) -> auto& { return t.otlp.ca_file; },
      "who may vouch for the collector; default: the system's", Setting::Kind::path));
}

void add_bounds(Parts& parts) {
  parts.push_back(value<T>(
                      "queue_capacity", [](auto& t) -> auto& { return t.otlp.queue_capacity; },
                      "spans that wait for the collector; more are dropped and counted")
                      .between("1", "1000000"));
  parts.push_back(
      value<T>(
          "batch_max", [](auto& t) -> auto& { return t.otlp.batch_max; }, "spans of one request")
          .between("1", "100000"));
  parts.push_back(value<T>(
                      "batch_delay", [](auto& t) -> auto& { return t.otlp.batch_delay; },
                      "so long a span waits for others")
                      .between("0", "1m"));
  parts.push_back(value<T>(
                      "timeout", [](auto& t) -> auto& { return t.otlp.timeout; }, "of one request")
                      .between("1ms", "5m"));
  parts.push_back(value<T>(
                      "attempts_max", [](auto& t) -> auto& { return t.otlp.attempts_max; },
                      "to send a batch, then it is given up")
                      .between("1", "100"));
  parts.push_back(value<T>(
                      "flush_max", [](auto& t) -> auto& { return t.otlp.flush_max; },
                      "how long a stop goes on sending")
                      .between("0", "5m"));
}

}  // namespace

Setting tracing_settings() {
  Parts parts;
  add_collector(parts);
  parts.push_back(value<T>("sample_ratio", &T::sample_ratio,
                           "of the messages without a trace; those with one have spans when it is "
                           "sampled")
                      .between("0", "1"));
  add_bounds(parts);
  return section<Configuration>("tracing", &Configuration::tracing, std::move(parts),
                                "spans of deliveries; see docs/tracing.md")
      .checked(own_check<T>());
}

}  // namespace sagabox::assembly
