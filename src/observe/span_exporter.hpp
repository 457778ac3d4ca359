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

/// What a collector said to a batch of spans.
struct PostAnswer {
  enum class Kind : std::uint8_t {
    taken,
    later,    ///< it may take them another time
    refused,  ///< it never will
  };
  Kind kind = Kind::taken;
  std::string error{};
  std::optional<Duration> retry_after{};
  std::uint64_t rejected = 0;  ///< of those taken
};

/// The way to a collector. Used by one thread.
class SpanPost {
 public:
  virtual ~SpanPost() = default;
  /// Ends about a second after `gives_up` says so, `later`.
  virtual PostAnswer post(const std::string& body, const std::function<bool()>& gives_up) = 0;
};

/// Collects spans in a bounded queue and posts them in batches, on a thread of its own.
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
  /// The next batch, when it is large enough or old enough; empty: there is no more.
  std::vector<TraceSpan> next();
  void send(const std::vector<TraceSpan>& batch);
  PostAnswer post(const std::string& body);
  /// False: a stop came first.
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
  bool reached_ = true;  // the thread's own

  std::mutex stopping_once_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TraceSpan> queue_;
  std::optional<BootTime> stop_by_;
  std::thread thread_;
};

}  // namespace sagabox
