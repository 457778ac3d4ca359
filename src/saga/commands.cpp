#include "saga/commands.hpp"

#include "core/json_quote.hpp"
#include "core/message_check.hpp"
#include "core/text.hpp"
#include "saga/instance.hpp"
#include "saga/json_text.hpp"

#include <sagabox/payload.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <initializer_list>
#include <utility>

namespace sagabox::saga {
namespace {

constexpr std::size_t key_length_max = 255;
constexpr std::size_t isolate_length_max = 200;
constexpr std::size_t actor_length_max = 200;
constexpr std::size_t note_bytes_max = 512;

Error wrong_body(const SagaCommand& command, const std::string& what) {
  return {Code::schema_validation_failed,
          std::string(saga_command_name(command.kind)) + ": " + what};
}

/// Reads one member; gives what is wrong, empty: nothing.
using ReadMember = std::function<std::string(std::string_view)>;
struct BodyField {
  std::string_view name;
  ReadMember read;
};

Status read_body(const SagaCommand& command, std::initializer_list<BodyField> fields) {
  const std::string_view body = command.body.empty() ? std::string_view("{}") : command.body;
  if (const auto problem = json_problem(body); !problem.empty()) {
    return wrong_body(command, "the body is " + problem);
  }
  const auto members = members_of(body);
  if (!members) return wrong_body(command, "the body must be an object");
  for (const auto& member : *members) {
    const auto* const field = std::ranges::find(fields, member.name, &BodyField::name);
    if (field == fields.end()) {
      return wrong_body(command, "unknown member " + quoted(member.name));
    }
    if (member.value == "null") continue;
    if (const auto problem = field->read(member.value); !problem.empty()) {
      return wrong_body(command, member.name + ": " + problem);
    }
  }
  return {};
}

ReadMember text_into(std::string& value, std::size_t length_max) {
  return [&value, length_max](std::string_view json) -> std::string {
    if (json.front() != '"') return "must be a string";
    value = unescaped(json);
    return value.empty() ? std::string() : name_problem(value, length_max);
  };
}

ReadMember note_into(std::string& value, std::size_t bytes_max = note_bytes_max) {
  return [&value, bytes_max](std::string_view json) -> std::string {
    if (json.front() != '"') return "must be a string";
    value = unescaped(json).substr(0, bytes_max);
    return {};
  };
}

ReadMember json_into(std::string& value, std::size_t bytes_max) {
  return [&value, bytes_max](std::string_view json) -> std::string {
    if (json.size() > bytes_max) {
      return std::to_string(json.size()) + " bytes, at most " + std::to_string(bytes_max) +
             " are allowed";
    }
    value = json;
    return {};
  };
}

/// What is kept as an output, as it is.
ReadMember output_into(std::string& value) {
  return [&value](std::string_view json) -> std::string {
    if (auto problem = json_into(value, output_bytes_max)(json); !problem.empty()) return problem;
    return stored_json_problem(json);
  };
}

ReadMember flag_into(bool& value) {
  return [&value](std::string_view json) -> std::string {
    if (json != "true" && json != "false") return "must be true or false";
    value = json == "true";
    return {};
  };
}

template <class Number>
ReadMember number_into(std::optional<Number>& value) {
  return [&value](std::string_view json) -> std::string {
    Number number{};
    const auto read = std::from_chars(json.data(), json.data() + json.size(), number);
    if (read.ec != std::errc() || read.ptr != json.data() + json.size()) {
      return "must be a whole number";
    }
    value = number;
    return {};
  };
}

ReadMember millis_into(std::optional<Duration>& value) {
  return [&value](std::string_view json) -> std::string {
    constexpr std::uint64_t most = 365ULL * 24 * 3600 * 1000;
    std::optional<std::uint64_t> millis;
    if (auto problem = number_into(millis)(json); !problem.empty()) return problem;
    if (*millis > most) return "is more than a year";
    value = std::chrono::milliseconds(*millis);
    return {};
  };
}

ReadMember labels_into(std::vector<SagaLabel>& labels) {
  return [&labels](std::string_view json) -> std::string {
    const auto members = members_of(json);
    if (!members) return "must be an object of strings";
    for (const auto& member : *members) {
      if (member.value.front() != '"') return "must be an object of strings";
      labels.push_back({member.name, unescaped(member.value)});
    }
    return {};
  };
}

/// An object, written member by member.
class Body {
 public:
  Body& text(std::string_view name, std::string_view value) {
    if (value.empty()) return *this;
    begin(name);
    append_json_string(out_, value);
    return *this;
  }
  Body& raw(std::string_view name, std::string_view json) {
    if (json.empty()) return *this;
    begin(name);
    out_ += json;
    return *this;
  }
  [[nodiscard]] std::string take() && { return out_ + "}"; }

 private:
  void begin(std::string_view name) {
    if (out_.size() > 1) out_ += ',';
    append_json_string(out_, name);
    out_ += ':';
  }
  std::string out_ = "{";
};

std::string millis_text(Duration duration) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

std::string read_result_kind(std::string_view json, CallResult::Kind& kind) {
  const auto name = unescaped(json);
  if (name == "ok") {
    kind = CallResult::Kind::ok;
  } else if (name == "retry") {
    kind = CallResult::Kind::retry;
  } else if (name == "fail") {
    kind = CallResult::Kind::fail;
  } else {
    return "write ok, retry or fail";
  }
  return {};
}

}  // namespace

Result<StartRequest> read_start(const SagaCommand& command) {
  StartRequest request;
  auto ok = read_body(command, {{"input", json_into(request.input, input_bytes_max)},
                                {"key", text_into(request.key, key_length_max)},
                                {"isolate", text_into(request.isolate, isolate_length_max)},
                                {"labels", labels_into(request.labels)},
                                {"timeout_ms", millis_into(request.timeout)},
                                {"version", number_into(request.version)},
                                {"traceparent", note_into(request.traceparent)}});
  if (!ok) return ok.error();
  if (request.input.empty()) request.input = "null";
  // A caller's tracing must not fail the messages and requests of his saga.
  if (!is_traceparent(request.traceparent)) request.traceparent.clear();
  return request;
}

std::string start_body(const StartRequest& request) {
  Body body;
  body.raw("input", request.input).text("key", request.key).text("isolate", request.isolate);
  if (!request.labels.empty()) {
    Body labels;
    for (const auto& label : request.labels) labels.text(label.name, label.value);
    body.raw("labels", std::move(labels).take());
  }
  if (request.timeout) body.raw("timeout_ms", millis_text(*request.timeout));
  if (request.version) body.raw("version", std::to_string(*request.version));
  body.text("traceparent", request.traceparent);
  return std::move(body).take();
}

Result<ReplyRequest> read_reply(const SagaCommand& command) {
  ReplyRequest request;
  bool said = false;
  auto ok = read_body(
      command, {{"step", text_into(request.step, SagaDefinition::name_length_max)},
                {"direction",
                 [&](std::string_view json) -> std::string {
                   const auto name = unescaped(json);
                   using enum BarrierDirection;
                   if (name != barrier_direction_name(action) &&
                       name != barrier_direction_name(compensation)) {
                     return "write action or compensation";
                   }
                   request.direction =
                       name == barrier_direction_name(action) ? action : compensation;
                   return {};
                 }},
                {"round", number_into(request.round)},
                {"result",
                 [&](std::string_view json) {
                   said = true;
                   return read_result_kind(json, request.result.kind);
                 }},
                // What is too large is told apart from what is wrong: the call had its effect.
                {"output", json_into(request.result.output, input_bytes_max)},
                {"error", note_into(request.result.error)},
                {"code",
                 [&](std::string_view json) -> std::string {
                   request.result.code = code_from_name(unescaped(json));
                   return {};
                 }},
                {"retry_after_ms", millis_into(request.result.retry_after)}});
  if (!ok) return ok.error();
  if (request.step.empty()) return wrong_body(command, "step: is missing");
  if (!said) return wrong_body(command, "result: is missing; write ok, retry or fail");
  return request;
}

std::string reply_body(const ReplyRequest& request) {
  using Kind = CallResult::Kind;
  const auto& result = request.result;
  Body body;
  body.text("step", request.step).text("direction", barrier_direction_name(request.direction));
  if (request.round) body.raw("round", std::to_string(*request.round));
  body.text("result", result.kind == Kind::ok      ? "ok"
                      : result.kind == Kind::retry ? "retry"
                                                   : "fail");
  body.raw("output", result.output).text("error", result.error);
  if (result.kind != Kind::ok) body.text("code", code_name(result.code));
  if (result.retry_after) body.raw("retry_after_ms", millis_text(*result.retry_after));
  return std::move(body).take();
}

Result<SignalRequest> read_signal(const SagaCommand& command) {
  SignalRequest request;
  auto ok = read_body(command, {{"name", text_into(request.name, SagaDefinition::name_length_max)},
                                {"payload", output_into(request.payload)}});
  if (!ok) return ok.error();
  if (request.name.empty()) return wrong_body(command, "name: is missing");
  return request;
}

std::string signal_body(const SignalRequest& request) {
  Body body;
  body.text("name", request.name).raw("payload", request.payload);
  return std::move(body).take();
}

Result<ActRequest> read_act(const SagaCommand& command) {
  using Kind = SagaCommandKind;
  ActRequest request;
  const auto only_for = [&](std::initializer_list<Kind> kinds, ReadMember read) -> ReadMember {
    const bool has_it = std::ranges::find(kinds, command.kind) != kinds.end();
    if (has_it) return read;
    return [](std::string_view) -> std::string { return "does not belong to this command"; };
  };
  auto ok = read_body(
      command,
      {{"actor", text_into(request.actor, actor_length_max)},
       {"note", note_into(request.note)},
       {"step", only_for({Kind::approve, Kind::set_step},
                         text_into(request.step, SagaDefinition::name_length_max))},
       {"approved", only_for({Kind::approve}, flag_into(request.approved))},
       {"state", only_for({Kind::set_step},
                          [&](std::string_view json) -> std::string {
                            request.state = saga_step_state_from_name(unescaped(json));
                            return request.state ? "" : "is not the name of a step's state";
                          })},
       {"output", only_for({Kind::set_step}, output_into(request.output))},
       {"into_compensation", only_for({Kind::replay}, flag_into(request.into_compensation))}});
  if (!ok) return ok.error();
  if (command.kind == Kind::set_step && (request.step.empty() || !request.state)) {
    return wrong_body(command, "needs a step and the state it is set to");
  }
  return request;
}

std::string act_body(SagaCommandKind kind, const ActRequest& request) {
  Body body;
  body.text("actor", request.actor).text("note", request.note).text("step", request.step);
  if (kind == SagaCommandKind::approve) body.raw("approved", request.approved ? "true" : "false");
  if (request.state) body.text("state", saga_step_state_name(*request.state));
  body.raw("output", request.output);
  if (request.into_compensation) body.raw("into_compensation", "true");
  return std::move(body).take();
}

}  // namespace sagabox::saga
