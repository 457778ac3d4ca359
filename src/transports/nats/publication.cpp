#include "transports/nats/publication.hpp"

#include "transports/envelope.hpp"
#include "transports/nats/address.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sagabox::nats {
namespace {

constexpr std::string_view status_line = "NATS/1.0\r\n";
constexpr std::size_t line_bytes = 4;  // ": " and CRLF

void append_percent(std::string& out, char letter) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(letter);
  out += '%';
  out += digits[byte >> 4U];
  out += digits[byte & 0xfU];
}

bool is_plain(char letter) {
  return letter > ' ' && letter <= '~' && letter != '"' && letter != '%';
}

/// The server acts on such headers (Nats-Rollup …), so authors may not set them.
bool is_the_servers(std::string_view name) {
  constexpr std::string_view prefix = "nats-";
  return name.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), name.begin(), [](char ours, char letter) {
           return ours == letter || (letter >= 'A' && letter <= 'Z' && ours == letter - 'A' + 'a');
         });
}

/// These are known by their own names everywhere, in addition to the CloudEvents attributes.
constexpr std::array<std::pair<std::string_view, std::string TraceContext::*>, 4> trace_headers = {{
    {"traceparent", &TraceContext::traceparent},
    {"tracestate", &TraceContext::tracestate},
    {"X-Request-Id", &TraceContext::request_id},
    {"X-Correlation-Id", &TraceContext::correlation_id},
}};

}  // namespace

void append_encoded(std::string& out, std::string_view text) {
  for (const char letter : text) {
    if (is_plain(letter)) {
      out += letter;
    } else {
      append_percent(out, letter);
    }
  }
}

void append_encoded_name(std::string& out, std::string_view text) {
  for (const char letter : text) {
    if (is_plain(letter) && letter != ':') {
      out += letter;
    } else {
      append_percent(out, letter);
    }
  }
}

bool Publication::add(natsMsg* message, std::string_view value) {
  value_ = value;
  bytes_ += name_.size() + value_.size() + line_bytes;
  return natsMsgHeader_Set(message, name_.c_str(), value_.c_str()) == NATS_OK;
}

Publication::Made Publication::make(const spi::Parcel& parcel, const std::string& reply) {
  const auto& message = *parcel.message;
  const auto& subject = static_cast<const Subject&>(*parcel.address);
  const auto payload = message.payload().view();
  natsMsg* raw = nullptr;
  if (natsMsg_Create(&raw, subject.text().c_str(), reply.c_str(), payload.data(),
                     static_cast<int>(payload.size())) != NATS_OK) {
    return {};
  }
  MessageHandle handle(raw);
  bytes_ = status_line.size() + 2 + payload.size();
  const auto named = [&](std::string_view name, std::string_view value) {
    name_ = name;
    return value.empty() || add(raw, value);
  };
  // Streams compare ids, not subjects: if a message is sent to two subjects of a stream, the second
  // would be dropped and acknowledged; the same would happen to another tenant's message with this
  // id. Ids and subjects contain no space, so the combination is unique.
  auto id_here = std::string(message.id().view()) + ' ' + subject.text();
  if (message.tenant() != tenant_default) {
    id_here += ' ';
    append_encoded(id_here, message.tenant());
  }
  bool complete = named("Nats-Msg-Id", id_here) &&
                  named("Nats-Expected-Stream", subject.stream()) &&
                  named("content-type", message.content_type());
  const transports::Envelope envelope(parcel);
  std::string encoded;
  for (const auto& attribute : envelope.attributes()) {
    name_ = "ce-";
    name_ += attribute.name;
    encoded.clear();
    append_encoded(encoded, attribute.value);
    complete = complete && add(raw, encoded);
  }
  for (const auto& [name, member] : trace_headers) {
    complete = complete && named(name, message.trace().*member);
  }
  for (const auto& [name, value] : message.headers()) {
    if (!transports::may_travel(name) || is_the_servers(name)) continue;
    name_.clear();
    append_encoded_name(name_, name);
    complete = complete && add(raw, value);
  }
  if (!complete) return {};
  return {std::move(handle), bytes_};
}

}  // namespace sagabox::nats
