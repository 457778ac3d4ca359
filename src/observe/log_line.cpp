#include "observe/log_line.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <type_traits>

namespace sagabox {
namespace {

constexpr std::string_view masked_field = "tenant";
constexpr std::string_view mask = "***";

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "error";
}

void append_escaped(std::string& out, char32_t code_point) {
  switch (code_point) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      std::array<char, 8> text{};
      std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(code_point));
      out += text.data();
  }
}

/// A JSON string; logfmt quotes in the same way.
void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const auto c = utf8_front(text.substr(at));
    if (c.bytes == 0) {
      out += "\xef\xbf\xbd";
    } else if (is_control(c.code_point) || c.code_point == '"' || c.code_point == '\\') {
      append_escaped(out, c.code_point);
    } else {
      out += text.substr(at, c.bytes);
    }
    at += std::max<std::size_t>(c.bytes, 1);
  }
  out += '"';
}

bool needs_quotes(std::string_view text) {
  return text.empty() || std::any_of(text.begin(), text.end(), [](char c) {
           return c <= ' ' || c > '~' || c == '"' || c == '=' || c == '\\';
         });
}

void append_text(std::string& out, std::string_view text, bool json) {
  if (json || needs_quotes(text)) {
    append_quoted(out, text);
  } else {
    out += text;
  }
}

void append_double(std::string& out, double value, bool json) {
  if (json && !std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  out += text.data();
}

void append_value(std::string& out, const LogField& field, const LogOptions& options) {
  if (options.mask_tenants && field.name == masked_field) {
    append_text(out, mask, options.json);
    return;
  }
  std::visit(
      [&](auto value) {
        using Value = decltype(value);
        if constexpr (std::is_same_v<Value, std::string_view>) {
          append_text(out, value, options.json);
        } else if constexpr (std::is_same_v<Value, double>) {
          append_double(out, value, options.json);
        } else if constexpr (std::is_same_v<Value, bool>) {
          out += value ? "true" : "false";
        } else {
          out += std::to_string(value);
        }
      },
      field.value);
}

std::string json_line(const LogOptions& options, const LogRecord& record) {
  std::string line = "{\"time\":\"" + utc_text(record.at) + "\",\"level\":\"";
  line.append(level_name(record.level)).append("\",\"event\":");
  append_quoted(line, record.event);
  for (const auto& field : record.fields) {
    line += ',';
    append_quoted(line, field.name);
    line += ':';
    append_value(line, field, options);
  }
  line += '}';
  return line;
}

std::string plain_line(const LogOptions& options, const LogRecord& record) {
  std::string line = utc_text(record.at);
  line.append(" ").append(level_name(record.level)).append(" ");
  append_text(line, record.event, false);
  for (const auto& field : record.fields) {
    line += ' ';
    append_text(line, field.name, false);
    line += '=';
    append_value(line, field, options);
  }
  return line;
}

}  // namespace

std::string log_line(const LogOptions& options, const LogRecord& record) {
  return options.json ? json_line(options, record) : plain_line(options, record);
}

}  // namespace sagabox
