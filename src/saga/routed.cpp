#include "saga/routed.hpp"

#include "core/ascii.hpp"
#include "core/text.hpp"
#include "saga/calls/call_headers.hpp"
#include "saga/commands.hpp"
#include "saga/requests.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

namespace sagabox::saga {
namespace {

using Kind = spi::SendResult::Kind;

constexpr Duration conflict_wait = std::chrono::milliseconds(20);
constexpr std::uint32_t retry_after_seconds_max = 24 * 3600;

Error wrong_message(std::string text) { return {Code::schema_validation_failed, std::move(text)}; }

/// Brokers may have changed the case of a header's name.
const std::string* find_header(const Message& message, std::string_view name) {
  const auto found = std::ranges::find_if(message.headers(), [&](const auto& one) {
    return std::ranges::equal(one.first, name, {}, lower, lower);
  });
  return found == message.headers().end() ? nullptr : &found->second;
}

Status read_result(const Message& message, CallResult& result) {
  const auto* const name = find_header(message, header::result);
  if (name == nullptr || *name == "ok") {
    if (message.payload().form() != PayloadForm::json) {
      return wrong_message(
          "the output of a step must be JSON; write the message's payload as JSON");
    }
    result.output = message.payload().json();
    return {};
  }
  if (*name != "retry" && *name != "fail") {
    return wrong_message(std::string(header::result) + ": " + quoted(*name) +
                         "; write ok, retry or fail");
  }
  result.kind = *name == "retry" ? CallResult::Kind::retry : CallResult::Kind::fail;
  result.code = Code::provider_rejected;
  if (const auto* const error = find_header(message, header::error)) result.error = *error;
  if (const auto* const after = find_header(message, header::retry_after)) {
    std::uint32_t seconds = 0;
    const auto read = std::from_chars(after->data(), after->data() + after->size(), seconds);
    if (read.ec != std::errc{} || read.ptr != after->data() + after->size() ||
        seconds > retry_after_seconds_max) {
      return wrong_message(std::string(header::retry_after) + ": " + quoted(*after) +
                           "; write a number of seconds, a day at most");
    }
    result.retry_after = std::chrono::seconds(seconds);
  }
  return {};
}

CommandId command_of_reply(const Message& message, const TableName& table) {
  constexpr std::size_t digits = 32;
  const auto text = message.tenant() + "\n" + table.str() + "\n" + message.id().str();
  return CommandId::parse("m" + hex(sha256(text)).substr(0, digits)).value();
}

}  // namespace

Result<SagaCommand> routed_start(const Message& message, const std::string& definition,
                                 RoutedKey key, UlidSource& ids) {
  if (message.payload().form() != PayloadForm::json) {
    return wrong_message("the input of a saga must be JSON; write the message's payload as JSON");
  }
  const bool by_key = key == RoutedKey::message_key && message.has_key();
  auto command = start_command({.definition = definition,
                                .input = std::string(message.payload().json()),
                                .key = by_key ? message.key() : message.id().str(),
                                .tenant = message.tenant(),
                                .traceparent = message.trace().traceparent},
                               ids);
  if (!command.ok()) return command;
  if (auto read = read_start(*command); !read.ok()) return read.error();
  return command;
}

Result<SagaCommand> routed_reply(const Message& message, const TableName& table,
                                 const ReplySecrets& secrets, WallTime now) {
  const auto* const token = find_header(message, header::reply_token);
  if (token == nullptr) {
    return wrong_message("the header " + std::string(header::reply_token) +
                         " is missing; pass on the one that came with the call");
  }
  auto claim = read_reply_token(*token, secrets, now);
  if (!claim.ok()) return claim.error();
  if (claim->tenant != message.tenant()) {
    return Error{Code::auth_denied,
                 "the reply token belongs to another tenant; write the message with its saga's"};
  }
  ReplyRequest request{
      .step = claim->step, .direction = claim->direction, .round = claim->round, .result = {}};
  if (auto read = read_result(message, request.result); !read.ok()) return read.error();
  SagaCommand command{.id = command_of_reply(message, table),
                      .saga = claim->saga,
                      .definition = std::move(claim->definition),
                      .tenant = std::move(claim->tenant),
                      .kind = SagaCommandKind::reply,
                      .body = reply_body(request)};
  if (auto read = read_reply(command); !read.ok()) return read.error();
  return command;
}

spi::SendResult routed_result(SagaCommandKind kind, const SagaCommandResult& result) {
  if (result.applied) return {};
  auto error = refusal_error(result);
  // It came too late, or twice: nobody needs to look at that message.
  if (kind == SagaCommandKind::reply && error.code == Code::tx_invalid_state) return {};
  if (is_retry_safe(error.code)) return routed_failure(error);
  return {.kind = Kind::rejected, .error = std::move(error.message), .code = error.code};
}

spi::SendResult routed_failure(const Error& error) {
  switch (error.code) {
    case Code::storage_unavailable:
    case Code::storage_in_doubt:
      return {.kind = Kind::unreachable, .error = error.message, .code = error.code};
    case Code::storage_conflict:
      return {.kind = Kind::later,
              .error = error.message,
              .retry_after = conflict_wait,
              .code = error.code};
    case Code::schema_validation_failed:
    case Code::auth_denied:
      return {.kind = Kind::rejected, .error = error.message, .code = error.code};
    default:
      return {.kind = Kind::failed, .error = error.message, .code = error.code};
  }
}

}  // namespace sagabox::saga
