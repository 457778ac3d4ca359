#pragma once

#include <sagabox/metrics.hpp>

namespace sagabox {

struct NoCounter final : Counter {
  void add(double) override {}
};
struct NoGauge final : Gauge {
  void set(double) override {}
};
struct NoHistogram final : Histogram {
  void observe(double) override {}
};

}  // namespace sagabox
