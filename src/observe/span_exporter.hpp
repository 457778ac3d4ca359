#pragma once

#include <sagabox/retry.hpp>
#include <sagabox/tracing.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sagabox {

/// The answer of a collector to a batch of spans.
struct PostAnswer {
  enum class Kind : std::uint8_t {
    taken,
    later,    ///< it may accept them later
    refused,  ///< it will never accept them
  };
  Kind kind = Kind::taken;
  std::string error{};
  std::optional<Duration> retry_after{};
  std::uint64_t rejected = 0;  ///< rejected spans of an accepted batch
};

/// Sends batches to a collector. Used by one thread.
class SpanPost {
 public:
  virtual ~SpanPost() = default;
  /// Returns `later` about a second after `gives_up` returns true.
  virtual PostAnswer post(const std::string& body, const std::function<bool()>& gives_up) = 0;
};

/// Collects spans in a bounded queue and posts them in batches on its own thread.
class SpanExporter final : public OtlpExporter {
 public:
  SpanExporter(OtlpOptions options, std::unique_ptr<SpanPost> post);
  ~SpanExporter() override { stop(); }
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  void take(TraceSpan span) noexcept override;
  void stop() override;

 private:
  void run();
  /// Waits for the next batch, until it is full or old enough; empty after the end.
  std::vector<TraceSpan> next();
  void send(const std::vector<TraceSpan>& batch);
  PostAnswer post(const std::string& body);
  /// Waits for `duration`; returns false if `stop` was called first.
  bool rest(Duration duration);
  [[nodiscard]] bool out_of_time();
  void tell(const PostAnswer& answer);
  void drop_rest();

  const OtlpOptions options_;
  const Headers resource_;
  const RetryPolicy retry_;
  std::unique_ptr<SpanPost> post_;
  Counter& exported_;
  Counter& dropped_;
  Counter& failed_;
  bool reached_ = true;  // used by the thread only

  std::mutex stopping_once_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TraceSpan> queue_;
  std::optional<BootTime> stop_by_;
  std::thread thread_;
};

}  // namespace sagabox
