#include "observe/catalogue.hpp"
#include "observe/metric_names.hpp"
#include "support/places.hpp"

#include <sagabox/error.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace sagabox {
namespace {

using testing::RecordingLogger;
using testing::RecordingMetrics;
using MetricKind = MetricInfo::Kind;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(MetricCatalogue, NamesAreUniqueAndFollowPrometheusConventions) {
  std::set<std::string_view> names;
  for (const auto& metric : metric_catalogue()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_EQ(metric.name.ends_with("_total"), metric.kind == MetricKind::counter) << metric.name;
    EXPECT_FALSE(metric.help.empty()) << metric.name;
    EXPECT_EQ(metric.labels.find("tenant"), std::string_view::npos) << metric.name;
  }
  EXPECT_EQ(names.size(), 93U);
}

TEST(MetricCatalogue, TheDocumentNamesEveryMetricWithItsKindAndLabels) {
  std::ifstream file(testing::project_folder() / "docs/metrics.md");
  ASSERT_TRUE(file.is_open());
  std::stringstream content;
  content << file.rdbuf();
  const std::string document = content.str();
  for (const auto& metric : metric_catalogue()) {
    std::string labels;
    for (const char c : metric.labels) labels += c == ' ' ? std::string(", ") : std::string(1, c);
    if (labels.empty()) labels = "none";
    const std::string kind = metric.kind == MetricKind::counter ? "counter"
                             : metric.kind == MetricKind::gauge ? "gauge"
                                                                : "histogram";
    const std::string row = "| `" + std::string(metric.name) + "` | " + kind + " | " + labels +
                            " | " + std::string(metric.help) + " |";
    EXPECT_NE(document.find(row), std::string::npos) << "docs/metrics.md lacks\n" << row;
  }
}

TEST(MetricCatalogue, BucketsRiseFrom50MicrosecondsTo60Seconds) {
  const auto seconds = histogram_buckets(metric::outbox_dispatch_seconds);
  EXPECT_EQ(seconds.front(), 0.00005);
  EXPECT_EQ(seconds.back(), 60.0);
  EXPECT_TRUE(std::is_sorted(seconds.begin(), seconds.end()));
  const auto rows = histogram_buckets(metric::outbox_settle_rows);
  EXPECT_EQ(rows.front(), 1.0);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
}

TEST(MetricProblem, SaysWhatIsWrong) {
  const auto problem = [](std::string_view name, MetricKind kind, Labels labels) {
    return metric_problem(name, kind, std::span(labels.begin(), labels.size()));
  };
  EXPECT_EQ(problem("outbox_pending", MetricKind::gauge, {{"table", "t"}}), "");
  EXPECT_EQ(problem("outbox_enqueued_total", MetricKind::counter, {{"topic", "x"}, {"table", "t"}}),
            "")
      << "labels may come in any order";
  EXPECT_EQ(problem("outbox_typo", MetricKind::gauge, {}),
            "metric outbox_typo: not in the catalogue (src/observe/catalogue.cpp)");
  EXPECT_EQ(problem("outbox_pending", MetricKind::counter, {{"table", "t"}}),
            "metric outbox_pending: used as a counter but it is a gauge");
  EXPECT_EQ(problem("outbox_pending", MetricKind::gauge, {{"tenant", "t"}}),
            "metric outbox_pending: has the labels {table}, not {tenant}");
  EXPECT_EQ(problem("outbox_pending", MetricKind::gauge, {{"table", "t"}, {"tenant", "x"}}),
            "metric outbox_pending: has the labels {table}, not {table tenant}");
  EXPECT_EQ(problem("outbox_pending", MetricKind::gauge, {}),
            "metric outbox_pending: has the labels {table}, not {}");
}

TEST(PrometheusMetrics, WritesTheTextFormat) {
  const auto metrics = PrometheusMetrics::create();
  metrics->counter(metric::outbox_enqueued_total, {{"table", "orders"}, {"topic", "a.b.c.v1"}})
      .add(3);
  metrics->gauge(metric::outbox_pending, {{"table", "orders"}}).set(12);
  metrics
      ->histogram(metric::outbox_dispatch_seconds,
                  {{"table", "orders"}, {"topic", "t"}, {"result", "done"}})
      .observe(0.002);
  metrics->counter(metric::ownership_lease_expired_total, Labels{}).increment();
  const auto text = metrics->text();
  const std::string labels = R"({result="done",table="orders",topic="t")";
  EXPECT_TRUE(has_line(text, "# HELP sagabox_outbox_enqueued_total Messages written")) << text;
  EXPECT_TRUE(has_line(text, "# TYPE sagabox_outbox_enqueued_total counter")) << text;
  EXPECT_TRUE(
      has_line(text, "sagabox_outbox_enqueued_total{table=\"orders\",topic=\"a.b.c.v1\"} 3"))
      << text;
  EXPECT_TRUE(has_line(text, "sagabox_outbox_pending{table=\"orders\"} 12")) << text;
  EXPECT_TRUE(has_line(text, "sagabox_outbox_dispatch_seconds_count" + labels + "} 1")) << text;
  EXPECT_TRUE(
      has_line(text, "sagabox_outbox_dispatch_seconds_bucket" + labels + ",le=\"0.001\"} 0"))
      << text;
  EXPECT_TRUE(
      has_line(text, "sagabox_outbox_dispatch_seconds_bucket" + labels + ",le=\"0.0025\"} 1"))
      << text;
  EXPECT_TRUE(has_line(text, "sagabox_ownership_lease_expired_total 1")) << text;
}

TEST(PrometheusMetrics, LabelValuesAreEscaped) {
  const auto metrics = PrometheusMetrics::create();
  metrics->gauge(metric::outbox_pending, {{"table", "a\"b\\c\nd"}}).set(1);
  EXPECT_TRUE(has_line(metrics->text(), R"(sagabox_outbox_pending{table="a\"b\\c\nd"} 1)"))
      << metrics->text();
}

TEST(PrometheusMetrics, TheSameNameAndLabelsAreTheSameInstrument) {
  const auto metrics = PrometheusMetrics::create();
  auto& one = metrics->counter(metric::outbox_enqueued_total, {{"table", "t"}, {"topic", "x"}});
  auto& swapped = metrics->counter(metric::outbox_enqueued_total, {{"topic", "x"}, {"table", "t"}});
  auto& other = metrics->counter(metric::outbox_enqueued_total, {{"table", "x"}, {"topic", "t"}});
  EXPECT_EQ(&one, &swapped);
  EXPECT_NE(&one, &other);
}

TEST(PrometheusMetrics, ThePrefixIsTheUsers) {
  const auto metrics = PrometheusMetrics::create("shop_");
  metrics->gauge(metric::outbox_pending, {{"table", "t"}}).set(1);
  EXPECT_TRUE(has_line(metrics->text(), "shop_outbox_pending{table=\"t\"} 1"));
  EXPECT_NO_THROW(PrometheusMetrics::create(""));
  for (const auto* wrong : {"9_", "a-b", "__x", "a b"}) {
    try {
      PrometheusMetrics::create(wrong);
      FAIL() << wrong;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.error().code, Code::config_invalid);
      EXPECT_TRUE(failure.error().message.starts_with("metrics prefix: only letters"));
    }
  }
}

TEST(PrometheusMetrics, UnknownMetricsAreLoggedOnceAndDropped) {
  RecordingLogger log;
  const auto metrics = PrometheusMetrics::create("sagabox_", log);
  for (int i = 0; i < 3; ++i) metrics->counter("outbox_typo_total", {{"table", "t"}}).add(1);
  metrics->gauge(metric::outbox_pending, {{"tenant", "acme"}}).set(1);
  metrics->histogram(metric::outbox_dead, {{"table", "t"}}).observe(1);
  EXPECT_EQ(metrics->text(), "");
  const auto lines = log.lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].event, "metric refused");
  EXPECT_EQ(lines[0].fields.at("error"),
            "metric outbox_typo_total: not in the catalogue (src/observe/catalogue.cpp)");
}

TEST(PrometheusMetrics, SeriesAreBounded) {
  const auto metrics = PrometheusMetrics::create();
  const auto count = [&](const std::string& topic) -> Counter& {
    return metrics->counter(metric::outbox_enqueued_total, {{"table", "t"}, {"topic", topic}});
  };
  auto& first = count("topic-0");
  for (std::size_t i = 0; i < PrometheusMetrics::series_max + 50; ++i) {
    count("topic-" + std::to_string(i)).increment();
  }
  EXPECT_EQ(&count("topic-0"), &first);
  const auto text = metrics->text();
  EXPECT_TRUE(
      has_line(text, "sagabox_outbox_enqueued_total{table=\"__other__\",topic=\"__other__\"} 50"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<std::ptrdiff_t>(2 + PrometheusMetrics::series_max + 1));
}

TEST(PrometheusMetrics, ThreadsMayShareIt) {
  const auto metrics = PrometheusMetrics::create();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) {
          metrics->counter(metric::outbox_duplicates_total, {{"table", std::to_string(i % 10)}})
              .increment();
          if (i % 100 == 0) (void)metrics->text();
        }
      });
    }
  }
  EXPECT_TRUE(has_line(metrics->text(), "sagabox_outbox_duplicates_total{table=\"7\"} 400"));
}

TEST(NoMetrics, TakesAnything) {
  no_metrics().counter("anything", Labels{}).add(1);
  no_metrics().gauge("anything", {{"a", "b"}}).set(1);
  no_metrics().histogram("anything", Labels{}).observe(1);
}

TEST(RecordingMetrics, KeepsFigures) {
  RecordingMetrics metrics;
  metrics.counter(metric::outbox_enqueued_total, {{"table", "t"}, {"topic", "a"}}).add(2);
  metrics.counter(metric::outbox_enqueued_total, {{"topic", "a"}, {"table", "t"}}).increment();
  metrics.counter(metric::outbox_enqueued_total, {{"table", "t"}, {"topic", "b"}}).increment();
  metrics.gauge(metric::outbox_pending, {{"table", "t"}}).set(5);
  metrics.histogram(metric::outbox_latency_seconds, {{"table", "t"}}).observe(0.5);
  EXPECT_EQ(metrics.counter_value(metric::outbox_enqueued_total, {{"table", "t"}, {"topic", "a"}}),
            3);
  EXPECT_EQ(metrics.counter_sum(metric::outbox_enqueued_total), 4);
  EXPECT_EQ(metrics.gauge_value(metric::outbox_pending, {{"table", "t"}}), 5);
  EXPECT_EQ(metrics.observations(metric::outbox_latency_seconds, {{"table", "t"}}),
            std::vector<double>{0.5});
  EXPECT_EQ(metrics.counter_value(metric::outbox_dead_total, Labels{}), 0);
}

TEST(RecordingMetrics, RefusesWhatIsNotInTheCatalogue) {
  RecordingMetrics metrics;
  EXPECT_THROW(metrics.counter("outbox_typo_total", Labels{}), std::logic_error);
  EXPECT_THROW(metrics.gauge(metric::outbox_pending, {{"tenant", "t"}}), std::logic_error);
}

}  // namespace
}  // namespace sagabox
