#include "observe/span_exporter.hpp"

#include "observe/metric_names.hpp"

#include <sagabox/testing/recording.hpp>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>

namespace sagabox {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using PostKind = PostAnswer::Kind;

/// A wait that only a failure makes long.
constexpr auto patience = seconds(60);

/// What a collector was sent, and what it answers: the last of `answers` for ever.
struct Collector {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::size_t> batches;
  std::vector<PostAnswer> answers{{}};
  bool hangs = false;
  int throws = 0;  ///< so often

  PostAnswer take(const std::string& body, const std::function<bool()>& gives_up) {
    std::unique_lock lock(mutex);
    const auto value = boost::json::parse(body);
    batches.push_back(
        value.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").as_array().size());
    changed.notify_all();
    if (throws-- > 0) throw std::bad_alloc();
    while (hangs && !gives_up()) changed.wait_for(lock, milliseconds(5));
    if (hangs) return {.kind = PostKind::later, .error = "no answer"};
    return answers[std::min(batches.size(), answers.size()) - 1];
  }
  bool wait_for_posts(std::size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, patience, [&] { return batches.size() >= count; });
  }
};

class ExporterTest : public ::testing::Test {
 protected:
  struct Post final : SpanPost {
    explicit Post(Collector& to) : collector(to) {}
    PostAnswer post(const std::string& body, const std::function<bool()>& gives_up) override {
      return collector.take(body, gives_up);
    }
    Collector& collector;
  };

  ExporterTest() {
    options.endpoint = "http://127.0.0.1:4318";
    options.metrics = &metrics;
    options.log = &log;
    options.flush_max = patience;
  }
  std::unique_ptr<SpanExporter> open() {
    return std::make_unique<SpanExporter>(options, std::make_unique<Post>(collector));
  }
  static void take(SpanExporter& exporter, int count) {
    for (int number = 0; number < count; ++number) exporter.take({});
  }
  double counted(std::string_view result) const {
    return metrics.counter_value(metric::tracing_spans_total, {{"result", result}});
  }

  testing::RecordingMetrics metrics;
  testing::RecordingLogger log;
  Collector collector;
  OtlpOptions options;
};

TEST_F(ExporterTest, SendsABatchWhenItIsLargeEnough) {
  options.batch_max = 4;
  options.batch_delay = hours(1);
  const auto exporter = open();
  take(*exporter, 4);
  EXPECT_TRUE(collector.wait_for_posts(1));
  exporter->stop();
  EXPECT_EQ(collector.batches, (std::vector<std::size_t>{4}));
  EXPECT_EQ(counted("exported"), 4);
}

TEST_F(ExporterTest, SendsWhatThereIsAfterTheDelay) {
  options.batch_delay = milliseconds(1);
  const auto exporter = open();
  take(*exporter, 1);
  EXPECT_TRUE(collector.wait_for_posts(1));
}

TEST_F(ExporterTest, StopSendsTheRestInBatches) {
  options.batch_max = 4;
  options.batch_delay = hours(1);
  const auto exporter = open();
  take(*exporter, 3);
  exporter->stop();
  take(*exporter, 2);
  EXPECT_EQ(collector.batches, (std::vector<std::size_t>{3}));
  EXPECT_EQ(counted("exported"), 3);
  EXPECT_EQ(counted("dropped"), 2) << "what comes after the stop";
}

TEST_F(ExporterTest, FullQueueDropsAndCounts) {
  options.queue_capacity = 8;
  options.batch_max = 8;
  options.batch_delay = hours(1);
  collector.hangs = true;
  options.timeout = hours(1);
  options.flush_max = {};
  const auto exporter = open();
  take(*exporter, 8);
  ASSERT_TRUE(collector.wait_for_posts(1)) << "these are on their way";
  take(*exporter, 8 + 5);
  EXPECT_EQ(counted("dropped"), 5);
  exporter->stop();
  EXPECT_EQ(counted("dropped"), 5 + 8);
  EXPECT_EQ(counted("failed"), 8);
}

TEST_F(ExporterTest, TriesAgainWhenTheCollectorAsksForIt) {
  collector.answers = {{.kind = PostKind::later, .error = "503", .retry_after = Duration{}},
                       {.kind = PostKind::later, .error = "503", .retry_after = Duration{}},
                       {}};
  options.batch_delay = {};
  const auto exporter = open();
  take(*exporter, 1);
  ASSERT_TRUE(collector.wait_for_posts(3));
  exporter->stop();
  EXPECT_EQ(counted("exported"), 1);
  EXPECT_EQ(counted("failed"), 0);
  EXPECT_EQ(log.lines().size(), 2U) << "once when it fails, once when it works again";
}

TEST_F(ExporterTest, GivesUpAfterTheLastAttempt) {
  collector.answers = {{.kind = PostKind::later, .error = "503", .retry_after = Duration{}}};
  options.attempts_max = 3;
  options.batch_max = 1;
  const auto exporter = open();
  take(*exporter, 1);
  ASSERT_TRUE(collector.wait_for_posts(3));
  exporter->stop();
  EXPECT_EQ(collector.batches.size(), 3U);
  EXPECT_EQ(counted("failed"), 1);
}

TEST_F(ExporterTest, DoesNotRepeatWhatIsRefused) {
  collector.answers = {{.kind = PostKind::refused, .error = "400"}};
  options.batch_max = 1;
  const auto exporter = open();
  take(*exporter, 1);
  exporter->stop();
  EXPECT_EQ(collector.batches.size(), 1U);
  EXPECT_EQ(counted("failed"), 1);
}

TEST_F(ExporterTest, LackOfMemoryCostsABatchAndNoMore) {
  collector.throws = 1;
  options.batch_max = 1;
  const auto exporter = open();
  take(*exporter, 2);
  exporter->stop();
  EXPECT_EQ(counted("failed"), 1);
  EXPECT_EQ(counted("exported"), 1);
}

TEST_F(ExporterTest, CountsWhatWasTakenInPart) {
  collector.answers = {{.rejected = 2}};
  options.batch_max = 5;
  options.batch_delay = hours(1);
  const auto exporter = open();
  take(*exporter, 5);
  exporter->stop();
  EXPECT_EQ(counted("exported"), 3);
  EXPECT_EQ(counted("failed"), 2);
}

TEST_F(ExporterTest, StopCutsAWaitShort) {
  collector.answers = {{.kind = PostKind::later, .error = "503", .retry_after = hours(1)}, {}};
  options.batch_max = 1;
  const auto exporter = open();
  take(*exporter, 1);
  ASSERT_TRUE(collector.wait_for_posts(1));
  exporter->stop();
  EXPECT_EQ(collector.batches.size(), 2U) << "one more attempt, at once";
  EXPECT_EQ(counted("exported"), 1);
}

TEST_F(ExporterTest, StopDoesNotWaitForACollectorThatHangs) {
  collector.hangs = true;
  options.timeout = hours(1);
  options.flush_max = milliseconds(10);
  options.batch_max = 1;
  const auto exporter = open();
  take(*exporter, 3);
  ASSERT_TRUE(collector.wait_for_posts(1));
  exporter->stop();
  EXPECT_EQ(counted("failed") + counted("dropped"), 3);
}

TEST(OtlpOptions, SayWhatIsWrong) {
  const auto problem = [](auto change) {
    OtlpOptions options{.endpoint = "http://127.0.0.1:4318"};
    change(options);
    const auto checked = options.check();
    return checked.ok() ? std::string() : checked.error().message;
  };
  EXPECT_EQ(problem([](OtlpOptions&) {}), "");
  EXPECT_TRUE(problem([](auto& o) { o.endpoint = "localhost:4317"; }).starts_with("endpoint: "));
  EXPECT_TRUE(problem([](auto& o) { o.endpoint = "http://"; }).starts_with("endpoint: "));
  EXPECT_TRUE(problem([](auto& o) { o.batch_max = 9000; }).starts_with("batch_max: "));
  EXPECT_TRUE(problem([](auto& o) { o.authorization = "a\nb"; }).starts_with("authorization: "));
  EXPECT_TRUE(problem([](auto& o) { o.headers = {{"a b", "c"}}; }).starts_with("headers: "));
  EXPECT_TRUE(problem([](auto& o) { o.headers = {{"a", "b\r\nc"}}; }).starts_with("headers.a: "));
}

}  // namespace
}  // namespace sagabox
