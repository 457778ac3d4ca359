#include "observe/error_metrics.hpp"

#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

namespace sagabox {
namespace {

TEST(ErrorMetrics, CountsByCodeWithWhatTheCodeMeans) {
  testing::RecordingMetrics metrics;
  const ErrorMetrics errors(metrics);
  errors.count(Code::tx_timeout);
  errors.count(Code::tx_timeout);
  errors.count(Code::storage_in_doubt);
  EXPECT_EQ(
      metrics.counter_value(
          "errors_total", {{"code", "TX.TIMEOUT"}, {"retryable", "true"}, {"severity", "warning"}}),
      2);
  EXPECT_EQ(metrics.counter_value(
                "errors_total",
                {{"code", "STORAGE.IN_DOUBT"}, {"retryable", "false"}, {"severity", "critical"}}),
            1);
  EXPECT_EQ(metrics.counter_sum("errors_total"), 3);
}

TEST(ErrorMetrics, CodeOfAnotherVersionIsUnknown) {
  testing::RecordingMetrics metrics;
  ErrorMetrics(metrics).count(static_cast<Code>(200));
  EXPECT_EQ(metrics.counter_value(
                "errors_total",
                {{"code", "UNKNOWN.INTERNAL"}, {"retryable", "false"}, {"severity", "critical"}}),
            1);
}

TEST(ErrorMetrics, EveryCodeIsThereFromTheStart) {
  const auto metrics = PrometheusMetrics::create();
  const ErrorMetrics errors(*metrics);
  const auto text = metrics->text();
  for (std::size_t number = 0; number < code_count; ++number) {
    const auto name = code_name(static_cast<Code>(number));
    EXPECT_NE(text.find("code=\"" + std::string(name) + "\""), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace sagabox
