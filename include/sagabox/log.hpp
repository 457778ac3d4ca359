#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace sagabox {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

/// One named value of a log line.
struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool> value;
};

/// Receives log lines. Safe to call from any thread; never throws. Payloads and secrets are never
/// logged.
class Logger {
 public:
  virtual ~Logger() = default;
  /// Call it before building a line whose level is often disabled.
  [[nodiscard]] virtual bool enabled(LogLevel level) const noexcept = 0;
  virtual void write(LogLevel level, std::string_view event,
                     std::span<const LogField> fields) noexcept = 0;

  void log(LogLevel level, std::string_view event,
           std::initializer_list<LogField> fields = {}) noexcept {
    if (enabled(level)) write(level, event, std::span(fields.begin(), fields.size()));
  }
};

Logger& no_log();

struct LogOptions {
  LogLevel level = LogLevel::info;
  bool json = false;          ///< one JSON object per line; else `time level event name=value …`
  bool mask_tenants = false;  ///< the value of the field `tenant` is replaced by `***`
};

/// Writes lines to standard error, through spdlog.
std::unique_ptr<Logger> stderr_log(LogOptions options);

}  // namespace sagabox
