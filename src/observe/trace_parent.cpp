#include "observe/trace_parent.hpp"

#include "core/message_check.hpp"

#include <sagabox/payload.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>

namespace sagabox {
namespace {

// The positions of the parts of a traceparent: 00-<32 hex>-<16 hex>-<2 hex>.
constexpr std::size_t trace_at = 3;
constexpr std::size_t span_at = 36;
constexpr std::size_t flags_at = 53;
constexpr unsigned sampled_flag = 1;

unsigned byte_at(std::string_view hex, std::size_t at) {
  unsigned byte = 0;
  std::from_chars(hex.data() + at, hex.data() + at + 2, byte, 16);
  return byte;
}

template <class Id>
void read_hex(std::string_view hex, Id& id) {
  for (std::size_t at = 0; at < id.size(); ++at) {
    id[at] = static_cast<std::uint8_t>(byte_at(hex, 2 * at));
  }
}

}  // namespace

std::optional<TraceParent> parse_traceparent(std::string_view text) {
  if (!is_traceparent(text)) return std::nullopt;
  TraceParent parent;
  read_hex(text.substr(trace_at), parent.trace);
  read_hex(text.substr(span_at), parent.span);
  parent.sampled = (byte_at(text, flags_at) & sampled_flag) != 0;
  return parent;
}

std::string hex_of(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

std::string traceparent_of(const TraceSpan& span) {
  return "00-" + hex_of(span.trace) + "-" + hex_of(span.id) + "-01";
}

SpanId new_span_id(Random& random) {
  // A span id of zeros is invalid.
  const auto number = std::max<std::uint64_t>(random.next(), 1);
  SpanId id{};
  for (std::size_t at = 0; at < id.size(); ++at) {
    id[at] = static_cast<std::uint8_t>(number >> (8 * at));
  }
  return id;
}

TraceId trace_of_message(std::string_view table, std::string_view message) {
  const auto digest = sha256(std::string(table).append("\n").append(message));
  TraceId trace{};
  std::copy_n(digest.begin(), trace.size(), trace.begin());
  return trace;
}

bool is_sampled(const TraceId& trace, double ratio) {
  constexpr std::size_t random_bytes = 7;
  std::uint64_t place = 0;
  for (auto at = trace.size() - random_bytes; at < trace.size(); ++at) {
    place = place << 8U | trace[at];
  }
  return static_cast<double>(place) < ratio * 0x1.0p56;
}

}  // namespace sagabox
