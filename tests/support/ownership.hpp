#pragma once

#include "ownership/worker.hpp"

#include <sagabox/id.hpp>
#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/time.hpp>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Shared by tests of ownership.
namespace sagabox::ownership::testing {

/// Does not advance by itself.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall_now() const override {
    return WallTime(std::chrono::hours(24 * 365 * 50) +
                    std::chrono::duration_cast<std::chrono::microseconds>(since_start_));
  }
  [[nodiscard]] BootTime boot_now() const override {
    return BootTime(std::chrono::hours(1) + since_start_);
  }
  void advance(Duration by) { since_start_ += by; }
  void advance_to(BootTime when) {
    if (when > boot_now()) advance(when - boot_now());
  }

 private:
  Duration since_start_{};
};

/// Acts as told, and checks that it is told the right things.
class RecordingHolder final : public Holder {
 public:
  struct Hold {
    spi::OwnedShard shard;
    WorkerId owner;
    Timeline timeline{};
    bool draining = false;
  };

  void acquired(const spi::OwnedShard& shard, const WorkerId& owner, Timeline timeline) override {
    if (!holds.emplace(shard.shard, Hold{shard, owner, timeline}).second) {
      violations.push_back("acquired while held");
    }
    acquisitions.push_back(shard);
  }
  void drain(Shard shard) override {
    if (!holds.contains(shard)) violations.push_back("drain of a shard not held");
    holds[shard].draining = true;
    drains.push_back(shard);
  }
  [[nodiscard]] bool idle(Shard shard) const override { return !busy.contains(shard); }
  void lost(Shard shard) override {
    if (holds.erase(shard) == 0) violations.push_back("lost a shard not held");
    losses.push_back(shard);
  }

  [[nodiscard]] std::size_t draining() const {
    std::size_t count = 0;
    for (const auto& [shard, hold] : holds) count += hold.draining ? 1 : 0;
    return count;
  }

  std::map<Shard, Hold> holds;
  std::set<Shard> busy;
  std::vector<spi::OwnedShard> acquisitions;
  std::vector<Shard> drains;
  std::vector<Shard> losses;
  std::vector<std::string> violations;
};

/// Values by "name{label=value,…}".
class RecordingMetrics final : public Metrics {
 public:
  using Metrics::counter;
  using Metrics::gauge;
  using Metrics::histogram;
  Counter& counter(std::string_view name, std::span<const Label> labels) override {
    return at(name, labels);
  }
  Gauge& gauge(std::string_view name, std::span<const Label> labels) override {
    return at(name, labels);
  }
  Histogram& histogram(std::string_view name, std::span<const Label> labels) override {
    return at(name, labels);
  }
  [[nodiscard]] double value(const std::string& name) const {
    const auto found = figures_.find(name);
    return found == figures_.end() ? -1 : found->second->value;
  }

 private:
  struct Figure final : Counter, Gauge, Histogram {
    void add(double amount) override { value += amount; }
    void set(double amount) override { value = amount; }
    void observe(double amount) override { value = amount; }
    double value = 0;
  };
  Figure& at(std::string_view name, std::span<const Label> labels) {
    std::string key(name);
    for (const auto& [label, value] : labels) {
      key += (key.size() == name.size() ? "{" : ",");
      key += std::string(label) + "=" + std::string(value);
    }
    if (!labels.empty()) key += "}";
    auto& figure = figures_[key];
    if (!figure) figure = std::make_unique<Figure>();
    return *figure;
  }
  std::map<std::string, std::unique_ptr<Figure>> figures_;
};

/// Lines as "level event".
class RecordingLog final : public Logger {
 public:
  [[nodiscard]] bool enabled(LogLevel) const noexcept override { return true; }
  void write(LogLevel level, std::string_view event, std::span<const LogField>) noexcept override {
    lines.emplace_back(level, std::string(event));
  }
  [[nodiscard]] std::size_t count(LogLevel level, std::string_view event) const {
    std::size_t count = 0;
    for (const auto& [l, e] : lines) count += l == level && e == event ? 1 : 0;
    return count;
  }
  std::vector<std::pair<LogLevel, std::string>> lines;
};

/// Steps each of `workers` when it is due until `clock` has advanced by `time`.
inline void run(ManualClock& clock, const std::vector<Worker*>& workers, Duration time) {
  const BootTime end = clock.boot_now() + time;
  for (;;) {
    bool stepped = true;
    while (stepped) {
      stepped = false;
      for (Worker* worker : workers) stepped = worker->step() || stepped;
    }
    if (clock.boot_now() >= end) return;
    BootTime next = end;
    for (Worker* worker : workers) next = std::min(next, worker->next_due());
    clock.advance_to(next);
  }
}

}  // namespace sagabox::ownership::testing
