#include "observe/span_exporter.hpp"

#include "observe/metric_names.hpp"
#include "observe/otlp_json.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace sagabox {
namespace {

constexpr Duration backoff_min = std::chrono::seconds(1);
constexpr Duration backoff_max = std::chrono::seconds(30);
/// The limit for a requested wait: old spans have little value, so the exporter tries again
/// earlier.
constexpr Duration asked_wait_max = std::chrono::seconds(60);

Headers with_service(const OtlpOptions& options) {
  Headers resource{{"service.name", options.service_name}};
  resource.insert(resource.end(), options.resource.begin(), options.resource.end());
  return resource;
}

Counter& spans(Metrics& metrics, std::string_view result) {
  return metrics.counter(metric::tracing_spans_total, {{"result", result}});
}

}  // namespace

SpanExporter::SpanExporter(OtlpOptions options, std::unique_ptr<SpanPost> post)
    : options_(std::move(options)),
      resource_(with_service(options_)),
      retry_{.attempts_max = options_.attempts_max,
             .backoff_min = backoff_min,
             .backoff_max = backoff_max},
      post_(std::move(post)),
      exported_(spans(*options_.metrics, "exported")),
      dropped_(spans(*options_.metrics, "dropped")),
      failed_(spans(*options_.metrics, "failed")),
      thread_([this] { run(); }) {}

void SpanExporter::take(TraceSpan span) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    if (!stop_by_ && queue_.size() < options_.queue_capacity) {
      queue_.push_back(std::move(span));
      // The thread waits for the first span, and then for a full batch.
      if (queue_.size() == 1 || queue_.size() == options_.batch_max) changed_.notify_one();
      return;
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): dropped, as below
  }
  dropped_.increment();
}

void SpanExporter::stop() {
  const std::scoped_lock once(stopping_once_);
  {
    const std::scoped_lock lock(mutex_);
    if (!stop_by_) stop_by_ = options_.clock->boot_now() + options_.flush_max;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SpanExporter::run() {
  for (auto batch = next(); !batch.empty(); batch = next()) {
    try {
      send(batch);
    } catch (const std::exception& problem) {
      // Probably out of memory: drop the spans, but do not end the process.
      failed_.add(static_cast<double>(batch.size()));
      tell({.kind = PostAnswer::Kind::refused, .error = problem.what()});
    }
  }
  drop_rest();
}

std::vector<TraceSpan> SpanExporter::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stop_by_ || !queue_.empty(); });
  changed_.wait_for(lock, options_.batch_delay,
                    [&] { return stop_by_ || queue_.size() >= options_.batch_max; });
  if (stop_by_ && options_.clock->boot_now() >= *stop_by_) return {};
  const auto count = std::min<std::size_t>(queue_.size(), options_.batch_max);
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<TraceSpan> batch(std::make_move_iterator(queue_.begin()),
                               std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return batch;
}

void SpanExporter::send(const std::vector<TraceSpan>& batch) {
  const auto body = otlp_json(resource_, batch);
  PostAnswer answer;
  for (std::uint32_t attempt = 1;; ++attempt) {
    answer = post(body);
    tell(answer);
    if (answer.kind != PostAnswer::Kind::later || attempt >= retry_.attempts_max) break;
    const auto wait = answer.retry_after ? std::min(*answer.retry_after, asked_wait_max)
                                         : retry_.delay(attempt, *options_.random);
    // `stop` ends the wait; one more attempt is made, and no further ones.
    if (!rest(wait)) attempt = std::max(attempt, retry_.attempts_max - 1);
    if (out_of_time()) break;
  }
  const bool taken = answer.kind == PostAnswer::Kind::taken;
  const auto lost = taken ? std::min<std::uint64_t>(answer.rejected, batch.size()) : batch.size();
  if (lost > 0) failed_.add(static_cast<double>(lost));
  if (lost < batch.size()) exported_.add(static_cast<double>(batch.size() - lost));
}

PostAnswer SpanExporter::post(const std::string& body) {
  const auto limit = options_.clock->boot_now() + options_.timeout;
  return post_->post(body, [&] { return options_.clock->boot_now() >= limit || out_of_time(); });
}

bool SpanExporter::rest(Duration duration) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, duration, [&] { return stop_by_.has_value(); });
}

bool SpanExporter::out_of_time() {
  const std::scoped_lock lock(mutex_);
  return stop_by_ && options_.clock->boot_now() >= *stop_by_;
}

void SpanExporter::tell(const PostAnswer& answer) {
  const bool reached = answer.kind == PostAnswer::Kind::taken;
  if (reached == std::exchange(reached_, reached)) return;
  if (reached) {
    options_.log->log(LogLevel::info, "spans reach their collector again");
  } else {
    options_.log->log(LogLevel::warning,
                      "spans do not reach their collector; messages are delivered all the same",
                      {{"error", std::string_view(answer.error)}});
  }
}

void SpanExporter::drop_rest() {
  const std::scoped_lock lock(mutex_);
  if (!queue_.empty()) dropped_.add(static_cast<double>(queue_.size()));
  queue_.clear();
}

}  // namespace sagabox
