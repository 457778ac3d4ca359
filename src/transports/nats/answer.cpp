#include "transports/nats/answer.hpp"

#include "core/error_text.hpp"

#include <boost/json.hpp>

namespace sagabox::nats {
namespace {

using Kind = spi::SendResult::Kind;

// Error codes of JetStream, used where its HTTP-like code says too little.
constexpr std::int64_t account_resources_exceeded = 10002;
constexpr std::int64_t insufficient_resources = 10023;
constexpr std::int64_t memory_resources_exceeded = 10028;
constexpr std::int64_t storage_resources_exceeded = 10047;
constexpr std::int64_t message_exceeds_maximum = 10054;
constexpr std::int64_t stream_not_match = 10060;
constexpr std::int64_t store_failed = 10077;
constexpr std::int64_t header_exceeds_maximum = 10097;
constexpr std::int64_t stream_sealed = 10109;
constexpr std::int64_t duplicate_in_process = 10158;
constexpr std::int64_t too_many_requests = 10167;

/// The server requests a retry without a delay.
constexpr Duration soon = std::chrono::milliseconds(100);

Kind kind_of(std::int64_t code, std::int64_t number) {
  switch (number) {
    case account_resources_exceeded:
    case insufficient_resources:
    case memory_resources_exceeded:
    case storage_resources_exceeded:
    case store_failed:
    case too_many_requests:
      return Kind::busy;  // full: it may have room later
    case duplicate_in_process:
      return Kind::later;
    // Only these are permanent; unknown errors of future servers may not be.
    case message_exceeds_maximum:
    case stream_not_match:
    case header_exceeds_maximum:
    case stream_sealed:
      return Kind::rejected;
    default:
      break;
  }
  if (code == 503) return Kind::unreachable;
  return code == 429 ? Kind::busy : Kind::failed;
}

std::int64_t number_in(const boost::json::object& object, std::string_view name) {
  const auto* const value = object.if_contains(name);
  const auto* const number = value == nullptr ? nullptr : value->if_int64();
  return number == nullptr ? 0 : *number;
}

std::string about(std::string_view subject) { return "nats:" + std::string(subject) + ": "; }

boost::json::object parsed(std::string_view json) {
  boost::system::error_code failed;
  auto value = boost::json::parse(json, failed);
  return !failed && value.is_object() ? std::move(value.as_object()) : boost::json::object();
}

}  // namespace

bool is_plain_ack(std::string_view json) noexcept {
  return json.starts_with(R"({"stream":)") && json.find(R"("error")") == std::string_view::npos;
}

spi::SendResult judge_ack(std::string_view json, std::string_view subject) {
  const auto answer = parsed(json);
  const auto* const error = answer.if_contains("error");
  if (error == nullptr || !error->is_object()) {
    if (answer.contains("stream")) return {};
    return {Kind::failed, about(subject) +
                              "something that is not JetStream answered; no subscriber may reply "
                              "on this subject"};
  }
  const auto& details = error->get_object();
  const auto number = number_in(details, "err_code");
  const auto* const description = details.if_contains("description");
  std::string text = about(subject) + "JetStream says: ";
  text += description != nullptr && description->is_string()
              ? std::string(description->get_string())
              : "an error without a description";
  text += " (" + std::to_string(number) + ")";
  const auto kind = kind_of(number_in(details, "code"), number);
  return {kind, clean_error(text), kind == Kind::later ? std::optional(soon) : std::nullopt};
}

spi::SendResult judge_streams(std::string_view json, std::string_view subject) {
  const auto answer = parsed(json);
  const auto* const streams = answer.if_contains("streams");
  if (streams != nullptr && streams->is_array() && !streams->get_array().empty()) {
    const auto& name = streams->get_array().front();
    return {Kind::unreachable,
            clean_error(about(subject) + "its stream " +
                        (name.is_string() ? std::string(name.get_string()) : "") +
                        " does not answer: it has no leader at present")};
  }
  if (answer.contains("error")) {
    return {Kind::unreachable,
            about(subject) + "nothing took it, and JetStream cannot say which streams there are"};
  }
  return unroutable(subject);
}

spi::SendResult no_jetstream() {
  return {Kind::unreachable,
          "JetStream does not answer: it is switched off, or not for this account"};
}

spi::SendResult unroutable(std::string_view subject) {
  // A mistake of the operator, not of the message: the message waits until there is a stream.
  return {Kind::unreachable, "unroutable: no stream takes subject " + std::string(subject) +
                                 "; create one with `nats stream add --subjects`"};
}

}  // namespace sagabox::nats
