#pragma once

#include <sagabox/log.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::assembly {

/// A log that reports an unavailable store once when it fails and once when it is back. Every part
/// of a daemon notices the failure by itself; their lines meanwhile have the level debug.
class OutageLog final : public Logger {
 public:
  struct WatchedStore {
    std::string name{};
    /// Checks whether it answers. May block.
    std::function<Status()> ask{};
  };

  /// Both must outlive it.
  OutageLog(Logger& lines, const Clock& clock) : lines_(lines), clock_(clock) {}
  ~OutageLog() override { watch({}); }
  OutageLog(const OutageLog&) = delete;
  OutageLog& operator=(const OutageLog&) = delete;

  /// Whether a thread polls while a store may be unavailable.
  enum class Looks : std::uint8_t { by_itself, when_told };
  /// Replaces the stores before, which are not asked any more when this returns. Without stores,
  /// every line is written unchanged.
  void watch(std::vector<WatchedStore> stores, Looks looks = Looks::by_itself);
  /// Asks all of them once. For `Looks::when_told`; called by one thread.
  void look();

  [[nodiscard]] bool enabled(LogLevel level) const noexcept override {
    return lines_.enabled(level);
  }
  void write(LogLevel level, std::string_view event,
             std::span<const LogField> fields) noexcept override;

 private:
  struct Watched {
    WatchedStore store;
    std::optional<BootTime> away_since{};
  };

  void run();
  void tell(Watched& watched, const Status& answer);

  Logger& lines_;
  const Clock& clock_;
  std::vector<Watched> stores_;         // changed only while no thread runs
  std::atomic<bool> watching_{false};   // whether there are stores
  std::atomic<bool> suspected_{false};  // a store is down, or the next look reports that none is
  std::atomic<std::uint64_t> left_out_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace sagabox::assembly
