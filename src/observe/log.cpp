#include "core/immortal.hpp"
#include "observe/log_line.hpp"

#include <sagabox/log.hpp>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace sagabox {
namespace {

class NoLog final : public Logger {
 public:
  [[nodiscard]] bool enabled(LogLevel) const noexcept override { return false; }
  void write(LogLevel, std::string_view, std::span<const LogField>) noexcept override {}
};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

class StderrLog final : public Logger {
 public:
  explicit StderrLog(LogOptions options)
      : options_(options), lines_("sagabox", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    lines_.set_pattern("%v");
    lines_.set_level(to_spdlog(options.level));
  }

  [[nodiscard]] bool enabled(LogLevel level) const noexcept override {
    return level >= options_.level;
  }
  void write(LogLevel level, std::string_view event,
             std::span<const LogField> fields) noexcept override {
    try {
      const auto line = log_line(options_, {system_clock().wall_now(), level, event, fields});
      lines_.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
    } catch (...) {
      // A line that cannot be written is lost; there is no place to report it.
    }
  }

 private:
  LogOptions options_;
  spdlog::logger lines_;
};

}  // namespace

Logger& no_log() { return immortal<NoLog>(); }

std::unique_ptr<Logger> stderr_log(LogOptions options) {
  return std::make_unique<StderrLog>(options);
}

}  // namespace sagabox
