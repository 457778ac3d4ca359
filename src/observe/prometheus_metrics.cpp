#include "observe/catalogue.hpp"
#include "observe/no_metrics.hpp"

#include <sagabox/error.hpp>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <type_traits>
#include <unordered_map>

namespace sagabox {
namespace {

constexpr std::string_view other_value = "__other__";
/// The number of refused names that are kept, so that each is logged once.
constexpr std::size_t reported_max = 100;

struct PrometheusCounter final : Counter {
  explicit PrometheusCounter(prometheus::Counter& to) : to_(to) {}
  void add(double amount) override { to_.Increment(amount); }

 private:
  prometheus::Counter& to_;
};

struct PrometheusGauge final : Gauge {
  explicit PrometheusGauge(prometheus::Gauge& to) : to_(to) {}
  void set(double value) override { to_.Set(value); }

 private:
  prometheus::Gauge& to_;
};

struct PrometheusHistogram final : Histogram {
  explicit PrometheusHistogram(prometheus::Histogram& to) : to_(to) {}
  void observe(double value) override { to_.Observe(value); }

 private:
  prometheus::Histogram& to_;
};

prometheus::Labels to_labels(const MetricInfo& metric, std::span<const std::string_view> values) {
  prometheus::Labels labels;
  std::string_view names = metric.labels;
  for (const auto value : values) {
    const std::size_t space = names.find(' ');
    labels.emplace(names.substr(0, space), value);
    if (space != std::string_view::npos) names.remove_prefix(space + 1);
  }
  return labels;
}

struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view key) const noexcept {
    return std::hash<std::string_view>{}(key);
  }
};

/// The series of one metric, looked up by its label values.
template <class Instrument>
class Series {
 public:
  using Make = std::function<std::unique_ptr<Instrument>(std::span<const std::string_view>)>;
  explicit Series(Make make) : make_(std::move(make)) {}

  Instrument& get(std::span<const std::string_view> values) {
    thread_local std::string key;
    write_key(values, key);
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = by_values_.find(key); found != by_values_.end()) return *found->second;
    }
    const std::unique_lock lock(mutex_);
    if (by_values_.size() < PrometheusMetrics::series_max || by_values_.contains(key)) {
      return find_or_add(key, values);
    }
    const std::vector<std::string_view> others(values.size(), other_value);
    write_key(others, key);
    return find_or_add(key, others);
  }

 private:
  /// Each value is preceded by its length, so that different values give different keys.
  static void write_key(std::span<const std::string_view> values, std::string& key) {
    key.clear();
    for (const auto value : values) {
      const std::size_t size = value.size();
      key.append(reinterpret_cast<const char*>(&size), sizeof size).append(value);
    }
  }
  Instrument& find_or_add(const std::string& key, std::span<const std::string_view> values) {
    const auto found = by_values_.find(key);
    if (found != by_values_.end()) return *found->second;
    return *by_values_.emplace(key, make_(values)).first->second;
  }

  Make make_;
  std::shared_mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Instrument>, KeyHash, std::equal_to<>> by_values_;
};

/// All metrics of one kind, by name. Filled once, then only read.
template <class Instrument>
using SeriesByName = std::map<std::string_view, std::unique_ptr<Series<Instrument>>>;

class Prometheus final : public PrometheusMetrics {
 public:
  Prometheus(const std::string& prefix, Logger& log) : log_(log) {
    for (const auto& metric : metric_catalogue()) add(prefix, metric);
  }

  Counter& counter(std::string_view name, std::span<const Label> labels) override {
    return get(counters_, no_counter_, MetricInfo::Kind::counter, name, labels);
  }
  Gauge& gauge(std::string_view name, std::span<const Label> labels) override {
    return get(gauges_, no_gauge_, MetricInfo::Kind::gauge, name, labels);
  }
  Histogram& histogram(std::string_view name, std::span<const Label> labels) override {
    return get(histograms_, no_histogram_, MetricInfo::Kind::histogram, name, labels);
  }
  [[nodiscard]] std::string text() const override {
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

 private:
  void add(const std::string& prefix, const MetricInfo& metric) {
    const std::string name = prefix + std::string(metric.name);
    const std::string help(metric.help);
    switch (metric.kind) {
      case MetricInfo::Kind::counter: {
        auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
        counters_[metric.name] = std::make_unique<Series<Counter>>([&family, &metric](auto values) {
          return std::make_unique<PrometheusCounter>(family.Add(to_labels(metric, values)));
        });
        break;
      }
      case MetricInfo::Kind::gauge: {
        auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
        gauges_[metric.name] = std::make_unique<Series<Gauge>>([&family, &metric](auto values) {
          return std::make_unique<PrometheusGauge>(family.Add(to_labels(metric, values)));
        });
        break;
      }
      case MetricInfo::Kind::histogram: {
        auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(registry_);
        const auto buckets = histogram_buckets(metric.name);
        histograms_[metric.name] =
            std::make_unique<Series<Histogram>>([&family, &metric, buckets](auto values) {
              return std::make_unique<PrometheusHistogram>(family.Add(
                  to_labels(metric, values),
                  prometheus::Histogram::BucketBoundaries(buckets.begin(), buckets.end())));
            });
        break;
      }
    }
  }

  /// Metrics never make the caller fail: after any error, the value goes to `nowhere`.
  template <class Instrument>
  Instrument& get(SeriesByName<Instrument>& series, std::type_identity_t<Instrument>& nowhere,
                  MetricInfo::Kind kind, std::string_view name, std::span<const Label> labels) {
    try {
      thread_local std::vector<std::string_view> values;
      const auto found = series.find(name);
      if (found != series.end() && values_in_order(*find_metric(name), labels, values)) {
        return found->second->get(values);
      }
      report(name, metric_problem(name, kind, labels));
    } catch (const std::exception& error) {
      log_.log(LogLevel::error, "metric lost", {{"error", std::string_view(error.what())}});
    }
    return nowhere;
  }

  void report(std::string_view name, const std::string& problem) {
    const std::lock_guard lock(reported_mutex_);
    if (reported_.size() >= reported_max || !reported_.emplace(name).second) return;
    log_.log(LogLevel::error, "metric refused", {{"error", std::string_view(problem)}});
  }

  Logger& log_;
  prometheus::Registry registry_;
  SeriesByName<Counter> counters_;
  SeriesByName<Gauge> gauges_;
  SeriesByName<Histogram> histograms_;
  NoCounter no_counter_;
  NoGauge no_gauge_;
  NoHistogram no_histogram_;
  std::mutex reported_mutex_;
  std::set<std::string, std::less<>> reported_;
};

bool is_prefix(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return std::all_of(text.begin(), text.end(), allowed) &&
         (text.empty() || (text[0] > '9' && !text.starts_with("__")));
}

}  // namespace

std::unique_ptr<PrometheusMetrics> PrometheusMetrics::create(std::string prefix, Logger& log) {
  if (!is_prefix(prefix)) {
    throw Failure({Code::config_invalid,
                   "metrics prefix: only letters, digits and _ are allowed, not starting with a "
                   "digit or __; for instance sagabox_"});
  }
  return std::make_unique<Prometheus>(prefix, log);
}

}  // namespace sagabox
