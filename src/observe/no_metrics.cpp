#include "observe/no_metrics.hpp"

#include "core/immortal.hpp"

namespace sagabox {
namespace {

class NoMetrics final : public Metrics {
 public:
  Counter& counter(std::string_view, std::span<const Label>) override { return counter_; }
  Gauge& gauge(std::string_view, std::span<const Label>) override { return gauge_; }
  Histogram& histogram(std::string_view, std::span<const Label>) override { return histogram_; }

 private:
  NoCounter counter_;
  NoGauge gauge_;
  NoHistogram histogram_;
};

}  // namespace

Metrics& no_metrics() { return immortal<NoMetrics>(); }

}  // namespace sagabox
