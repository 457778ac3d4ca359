#pragma once

#include <sagabox/log.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox {

using Label = std::pair<std::string_view, std::string_view>;
using Labels = std::initializer_list<Label>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(double amount) = 0;
  void increment() { add(1); }
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void set(double value) = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void observe(double value) = 0;
};

/// Receives metrics. The same name and labels always return the same instrument, which lives as
/// long as the Metrics. All functions are safe to call from any thread and never throw.
class Metrics {
 public:
  virtual ~Metrics() = default;
  virtual Counter& counter(std::string_view name, std::span<const Label> labels) = 0;
  virtual Gauge& gauge(std::string_view name, std::span<const Label> labels) = 0;
  virtual Histogram& histogram(std::string_view name, std::span<const Label> labels) = 0;

  Counter& counter(std::string_view name, Labels labels) {
    return counter(name, std::span(labels.begin(), labels.size()));
  }
  Gauge& gauge(std::string_view name, Labels labels) {
    return gauge(name, std::span(labels.begin(), labels.size()));
  }
  Histogram& histogram(std::string_view name, Labels labels) {
    return histogram(name, std::span(labels.begin(), labels.size()));
  }
};

/// Discards all values.
Metrics& no_metrics();

/// Every metric of sagabox: name without prefix, kind, labels, help. docs/metrics.md is checked
/// against it.
struct MetricInfo {
  enum class Kind : std::uint8_t { counter, gauge, histogram };
  std::string_view name;
  Kind kind;
  std::string_view labels;  ///< "table topic result"
  std::string_view help;
};
std::span<const MetricInfo> metric_catalogue();

/// Empty if the catalogue has a metric of this name and kind with exactly these labels, in any
/// order; else what is wrong.
std::string metric_problem(std::string_view name, MetricInfo::Kind kind,
                           std::span<const Label> labels);

/// Prometheus text exposition (prometheus-cpp). Accepts the metrics of the catalogue only: another
/// name or label is logged once and its values are dropped (testing::RecordingMetrics throws).
class PrometheusMetrics : public Metrics {
 public:
  /// The limit for each metric; further label values are counted in one series with `__other__` for
  /// each label.
  static constexpr std::size_t series_max = 1000;

  /// `prefix` is prepended to every name. Throws Failure if Prometheus does not allow it. `log`
  /// outlives the metrics.
  static std::unique_ptr<PrometheusMetrics> create(std::string prefix = "sagabox_",
                                                   Logger& log = no_log());
  /// The text of a scrape.
  [[nodiscard]] virtual std::string text() const = 0;
};

}  // namespace sagabox
