#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::testing {

/// Records every value for tests. A metric or label that is not in the catalogue is a programming
/// error: std::logic_error.
class RecordingMetrics final : public Metrics {
 public:
  using Metrics::counter;
  using Metrics::gauge;
  using Metrics::histogram;

  Counter& counter(std::string_view name, std::span<const Label> labels) override {
    return get(counters_, name, MetricInfo::Kind::counter, labels);
  }
  Gauge& gauge(std::string_view name, std::span<const Label> labels) override {
    return get(gauges_, name, MetricInfo::Kind::gauge, labels);
  }
  Histogram& histogram(std::string_view name, std::span<const Label> labels) override {
    return get(histograms_, name, MetricInfo::Kind::histogram, labels);
  }

  /// 0 if that counter was never requested.
  [[nodiscard]] double counter_value(std::string_view name, Labels labels) const {
    const auto* found = find(counters_, name, labels);
    return found == nullptr ? 0 : found->value.load();
  }
  /// The sum over all label values.
  [[nodiscard]] double counter_sum(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    double sum = 0;
    for (const auto& [key, instrument] : counters_) {
      if (key.first == name) sum += instrument->value.load();
    }
    return sum;
  }
  [[nodiscard]] double gauge_value(std::string_view name, Labels labels) const {
    const auto* found = find(gauges_, name, labels);
    return found == nullptr ? 0 : found->value.load();
  }
  [[nodiscard]] std::vector<double> observations(std::string_view name, Labels labels) const {
    const auto* found = find(histograms_, name, labels);
    if (found == nullptr) return {};
    const std::lock_guard lock(found->mutex);
    return found->values;
  }

 private:
  struct RecordedCounter final : Counter {
    void add(double amount) override { value.fetch_add(amount); }
    std::atomic<double> value{0};
  };
  struct RecordedGauge final : Gauge {
    void set(double to) override { value.store(to); }
    std::atomic<double> value{0};
  };
  struct RecordedHistogram final : Histogram {
    void observe(double value) override {
      const std::lock_guard lock(mutex);
      values.push_back(value);
    }
    mutable std::mutex mutex;
    std::vector<double> values;
  };

  using LabelMap = std::map<std::string, std::string>;
  using Key = std::pair<std::string, LabelMap>;
  template <class Instrument>
  using Instruments = std::map<Key, std::unique_ptr<Instrument>>;

  static Key key_of(std::string_view name, std::span<const Label> labels) {
    Key key{std::string(name), {}};
    for (const auto& [label, value] : labels) key.second.emplace(label, value);
    return key;
  }

  template <class Instrument>
  Instrument& get(Instruments<Instrument>& instruments, std::string_view name,
                  MetricInfo::Kind kind, std::span<const Label> labels) {
    if (const auto problem = metric_problem(name, kind, labels); !problem.empty()) {
      throw std::logic_error(problem);
    }
    const std::lock_guard lock(mutex_);
    auto& place = instruments[key_of(name, labels)];
    if (!place) place = std::make_unique<Instrument>();
    return *place;
  }

  template <class Instrument>
  const Instrument* find(const Instruments<Instrument>& instruments, std::string_view name,
                         Labels labels) const {
    const std::lock_guard lock(mutex_);
    const auto found = instruments.find(key_of(name, std::span(labels.begin(), labels.size())));
    return found == instruments.end() ? nullptr : found->second.get();
  }

  mutable std::mutex mutex_;
  Instruments<RecordedCounter> counters_;
  Instruments<RecordedGauge> gauges_;
  Instruments<RecordedHistogram> histograms_;
};

/// Records every audit event.
class RecordingAudit final : public Audit {
 public:
  [[nodiscard]] bool wants(AuditKind) const noexcept override { return true; }
  void record(const AuditEvent& event) noexcept override {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }

  [[nodiscard]] std::vector<AuditEvent> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  [[nodiscard]] std::size_t count(AuditKind kind) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(
        events_.begin(), events_.end(), [&](const AuditEvent& e) { return e.kind == kind; }));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<AuditEvent> events_;
};

/// Records every log line, of all levels.
class RecordingLogger final : public Logger {
 public:
  struct Line {
    LogLevel level = LogLevel::info;
    std::string event;
    std::map<std::string, std::string> fields;  ///< numbers and booleans as text
  };

  [[nodiscard]] bool enabled(LogLevel) const noexcept override { return true; }
  void write(LogLevel level, std::string_view event,
             std::span<const LogField> fields) noexcept override {
    Line line{level, std::string(event), {}};
    for (const auto& field : fields) {
      line.fields.emplace(field.name, std::visit([](auto v) { return text_of(v); }, field.value));
    }
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }

  [[nodiscard]] std::vector<Line> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  [[nodiscard]] std::size_t count(std::string_view event) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(lines_.begin(), lines_.end(),
                                                  [&](const Line& l) { return l.event == event; }));
  }

 private:
  static std::string text_of(std::string_view value) { return std::string(value); }
  static std::string text_of(bool value) { return value ? "true" : "false"; }
  static std::string text_of(double value) { return std::to_string(value); }
  static std::string text_of(std::int64_t value) { return std::to_string(value); }
  static std::string text_of(std::uint64_t value) { return std::to_string(value); }

  mutable std::mutex mutex_;
  std::vector<Line> lines_;
};

}  // namespace sagabox::testing
