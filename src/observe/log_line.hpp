#pragma once

#include <sagabox/log.hpp>
#include <sagabox/time.hpp>

#include <span>
#include <string>
#include <string_view>

namespace sagabox {

struct LogRecord {
  WallTime at;
  LogLevel level;
  std::string_view event;
  std::span<const LogField> fields;
};

/// One line without a newline, in the format of `options`: always well-formed UTF-8 without control
/// characters, whatever the values contain.
std::string log_line(const LogOptions& options, const LogRecord& record);

}  // namespace sagabox
