#include "core/digest_text.hpp"
#include "core/json_quote.hpp"
#include "core/text.hpp"
#include "saga/instance.hpp"
#include "saga/json_text.hpp"

#include <sagabox/payload.hpp>

#include <array>
#include <charconv>
#include <utility>

namespace sagabox::saga {
namespace {

/// A version that reads what this one writes has the same number.
constexpr std::uint32_t body_version = 1;
constexpr std::size_t hash_digits = 16;

template <class Integer>
void append_number(std::string& out, Integer value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end.ptr);
}

void append_name(std::string& out, std::string_view name) {
  if (out.back() != '{') out += ',';
  out += '"';
  out += name;
  out += "\":";
}

void append_if(std::string& out, std::string_view name, std::uint64_t value) {
  if (value == 0) return;
  append_name(out, name);
  append_number(out, value);
}
void append_if(std::string& out, std::string_view name, const std::optional<WallTime>& time) {
  if (!time) return;
  append_name(out, name);
  append_number(out, time->time_since_epoch().count());
}
void append_raw_if(std::string& out, std::string_view name, std::string_view json) {
  if (json.empty()) return;
  append_name(out, name);
  out += json;
}
void append_text_if(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  append_name(out, name);
  append_json_string(out, text);
}
void append_true_if(std::string& out, std::string_view name, bool yes) {
  if (yes) append_raw_if(out, name, "true");
}

void append_step(std::string& out, const InstanceStep& step) {
  out += '{';
  append_text_if(out, "state", saga_step_state_name(step.state));
  append_true_if(out, "doubt", step.doubt);
  append_if(out, "round", step.round);
  append_if(out, "undo_round", step.undo_round);
  append_if(out, "calls", step.calls);
  append_if(out, "earlier_calls", step.earlier_calls);
  append_if(out, "attempts", step.attempts);
  if (step.in_flight) {
    append_name(out, "call");
    out += '[';
    append_number(out, step.in_flight->call);
    out += step.in_flight->direction == BarrierDirection::action ? ",0," : ",1,";
    append_number(out, step.in_flight->deadline.time_since_epoch().count());
    out += ']';
  }
  append_if(out, "started", step.started_at);
  append_if(out, "ended", step.ended_at);
  append_if(out, "undo_started", step.undo_started_at);
  append_if(out, "undone", step.undone_at);
  append_if(out, "due", step.due);
  append_if(out, "deadline", step.deadline);
  append_raw_if(out, "output", step.output);
  append_text_if(out, "error", step.error);
  if (step.code != Code::unknown_internal) append_text_if(out, "code", code_name(step.code));
  out += '}';
}

void append_hashes_if(std::string& out, std::string_view name,
                      const std::vector<std::uint64_t>& hashes) {
  if (hashes.empty()) return;
  append_name(out, name);
  out += '"';
  for (const auto hash : hashes) {
    std::array<char, hash_digits> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16);
    out.append(hash_digits - static_cast<std::size_t>(end.ptr - digits.data()), '0');
    out.append(digits.data(), end.ptr);
  }
  out += '"';
}

/// Takes a body apart. The first thing that cannot be read ends it.
class BodyReader {
 public:
  explicit BodyReader(Instance& into) : made_(into) {}

  std::string read(std::string_view body) {
    if (auto problem = json_problem(body); !problem.empty()) return problem;
    const auto members = members_of(body);
    if (!members) return "is not an object";
    for (const auto& member : *members) {
      if (!problem_.empty()) break;
      top(member.name, member.value);
    }
    if (problem_.empty() && version_ != body_version) {
      problem_ = "has no version that is known here";
    }
    return problem_;
  }

 private:
  void wrong(std::string_view name) {
    if (problem_.empty()) problem_ = "member " + quoted(name) + " cannot be read";
  }
  void unknown(std::string_view name) {
    problem_ = "member " + quoted(name) +
               " is not known here: a newer version wrote it; upgrade this process";
  }

  template <class Integer>
  Integer number(std::string_view name, std::string_view json) {
    Integer value{};
    const auto read = std::from_chars(json.data(), json.data() + json.size(), value);
    if (read.ec != std::errc() || read.ptr != json.data() + json.size()) wrong(name);
    return value;
  }
  WallTime time(std::string_view name, std::string_view json) {
    return WallTime(std::chrono::microseconds(number<std::int64_t>(name, json)));
  }

  void top(const std::string& name, std::string_view json) {
    if (name == "v") {
      version_ = number<std::uint32_t>(name, json);
      if (version_ > body_version) {
        problem_ = "has version " + std::to_string(version_) +
                   ": a newer version wrote it; upgrade this process";
      }
    } else if (name == "epoch") {
      made_.epoch = number<std::uint64_t>(name, json);
    } else if (name == "input") {
      made_.input = json;
    } else if (name == "deadline") {
      made_.deadline = time(name, json);
    } else if (name == "timed_out") {
      made_.timed_out = json == "true";
    } else if (name == "paused_at") {
      made_.paused_at = time(name, json);
    } else if (name == "paused_in") {
      const auto state = saga_state_from_name(unescaped(json));
      if (!state) return wrong(name);
      made_.paused_in = *state;
    } else if (name == "undo") {
      made_.undo = undo(name, json);
    } else if (name == "traceparent") {
      made_.traceparent = unescaped(json);
    } else if (name == "steps") {
      steps(name, json);
    } else if (name == "signals") {
      signals(name, json);
    } else if (name == "commands") {
      made_.commands = hashes(name, json);
    } else if (name == "refused") {
      made_.refused = hashes(name, json);
    } else if (name == "history") {
      made_.history_number = number<std::uint32_t>(name, json);
    } else if (name == "history_hash") {
      const auto hash = digest_from_hex(unescaped(json));
      if (!hash) return wrong(name);
      made_.history_hash = *hash;
    } else {
      unknown(name);
    }
  }

  UndoReason undo(std::string_view name, std::string_view json) {
    const auto text = unescaped(json);
    for (std::size_t i = 0; i < undo_reason_count; ++i) {
      const auto reason = static_cast<UndoReason>(i);
      if (undo_reason_name(reason) == text) return reason;
    }
    wrong(name);
    return UndoReason::none;
  }

  void steps(std::string_view name, std::string_view json) {
    const auto elements = elements_of(json);
    if (!elements) return wrong(name);
    made_.steps.reserve(elements->size());
    for (const auto& element : *elements) {
      const auto members = members_of(element);
      if (!members) return wrong(name);
      auto& step = made_.steps.emplace_back();
      for (const auto& member : *members) {
        if (!problem_.empty()) return;
        step_member(step, member.name, member.value);
      }
    }
  }

  void step_member(InstanceStep& step, const std::string& name, std::string_view json) {
    if (name == "state") {
      const auto state = saga_step_state_from_name(unescaped(json));
      if (!state) return wrong(name);
      step.state = *state;
    } else if (name == "doubt") {
      step.doubt = json == "true";
    } else if (name == "round") {
      step.round = number<std::uint32_t>(name, json);
    } else if (name == "undo_round") {
      step.undo_round = number<std::uint32_t>(name, json);
    } else if (name == "calls") {
      step.calls = number<std::uint32_t>(name, json);
    } else if (name == "earlier_calls") {
      step.earlier_calls = number<std::uint32_t>(name, json);
    } else if (name == "attempts") {
      step.attempts = number<std::uint32_t>(name, json);
    } else if (name == "call") {
      in_flight(step, name, json);
    } else if (name == "output") {
      step.output = json;
    } else if (name == "error") {
      step.error = unescaped(json);
    } else if (name == "code") {
      step.code = code_from_name(unescaped(json));
    } else {
      step_time(step, name, json);
    }
  }

  void step_time(InstanceStep& step, const std::string& name, std::string_view json) {
    if (name == "started") {
      step.started_at = time(name, json);
    } else if (name == "ended") {
      step.ended_at = time(name, json);
    } else if (name == "undo_started") {
      step.undo_started_at = time(name, json);
    } else if (name == "undone") {
      step.undone_at = time(name, json);
    } else if (name == "due") {
      step.due = time(name, json);
    } else if (name == "deadline") {
      step.deadline = time(name, json);
    } else {
      unknown(name);
    }
  }

  void in_flight(InstanceStep& step, std::string_view name, std::string_view json) {
    const auto parts = elements_of(json);
    if (!parts || parts->size() != 3) return wrong(name);
    const bool action = (*parts)[1] == "0";
    step.in_flight = {
        .call = number<std::uint32_t>(name, (*parts)[0]),
        .direction = action ? BarrierDirection::action : BarrierDirection::compensation,
        .deadline = time(name, (*parts)[2])};
  }

  void signals(std::string_view name, std::string_view json) {
    const auto elements = elements_of(json);
    if (!elements) return wrong(name);
    for (const auto& element : *elements) {
      const auto parts = elements_of(element);
      if (!parts || parts->size() != 2) return wrong(name);
      made_.signals.push_back({unescaped((*parts)[0]), std::string((*parts)[1])});
    }
  }

  std::vector<std::uint64_t> hashes(std::string_view name, std::string_view json) {
    std::vector<std::uint64_t> read_hashes;
    const auto text = unescaped(json);
    if (text.size() % hash_digits != 0) wrong(name);
    for (std::size_t at = 0; at + hash_digits <= text.size(); at += hash_digits) {
      std::uint64_t hash = 0;
      const auto* const begin = text.data() + at;
      const auto read = std::from_chars(begin, begin + hash_digits, hash, 16);
      if (read.ptr != begin + hash_digits) wrong(name);
      read_hashes.push_back(hash);
    }
    return read_hashes;
  }

  Instance& made_;
  std::uint32_t version_ = 0;
  std::string problem_;
};

}  // namespace

std::string encode_body(const Instance& instance) {
  std::string out;
  out.reserve(256 + instance.input.size() + instance.steps.size() * 160);
  out += '{';
  append_if(out, "v", body_version);
  append_if(out, "epoch", instance.epoch);
  append_raw_if(out, "input", instance.input);
  append_if(out, "deadline", instance.deadline);
  append_true_if(out, "timed_out", instance.timed_out);
  append_if(out, "paused_at", instance.paused_at);
  if (instance.paused_at) append_text_if(out, "paused_in", saga_state_name(instance.paused_in));
  if (instance.undo != UndoReason::none) {
    append_text_if(out, "undo", undo_reason_name(instance.undo));
  }
  append_text_if(out, "traceparent", instance.traceparent);
  append_name(out, "steps");
  out += '[';
  for (const auto& step : instance.steps) {
    if (out.back() == '}') out += ',';
    append_step(out, step);
  }
  out += ']';
  if (!instance.signals.empty()) {
    append_name(out, "signals");
    out += '[';
    for (const auto& signal : instance.signals) {
      if (out.back() == ']') out += ',';
      out += '[';
      append_json_string(out, signal.name);
      out += ',';
      out += signal.payload.empty() ? std::string_view("null") : signal.payload;
      out += ']';
    }
    out += ']';
  }
  append_hashes_if(out, "commands", instance.commands);
  append_hashes_if(out, "refused", instance.refused);
  append_if(out, "history", instance.history_number);
  if (instance.history_number != 0) {
    append_text_if(out, "history_hash", hex(instance.history_hash));
  }
  out += '}';
  return out;
}

SagaRecord to_record(const Instance& instance) {
  return {.id = instance.id,
          .tenant = instance.tenant,
          .definition = instance.definition,
          .definition_version = instance.definition_version,
          .shard = instance.shard,
          .state = instance.state,
          .quarantined = instance.quarantined,
          .version = instance.version + 1,
          .due = stored_due(instance),
          .key = instance.key,
          .isolate = instance.isolate,
          .labels = instance.labels,
          .started_at = instance.started_at,
          .changed_at = instance.changed_at,
          .ended_at = instance.ended_at,
          .body = encode_body(instance)};
}

Result<Instance> from_record(const SagaRecord& record) {
  Instance made;
  made.id = record.id;
  made.tenant = record.tenant;
  made.definition = record.definition;
  made.definition_version = record.definition_version;
  made.shard = record.shard;
  made.state = record.state;
  made.quarantined = record.quarantined;
  made.version = record.version;
  made.key = record.key;
  made.isolate = record.isolate;
  made.labels = record.labels;
  made.started_at = record.started_at;
  made.changed_at = record.changed_at;
  made.ended_at = record.ended_at;
  if (auto problem = BodyReader(made).read(record.body); !problem.empty()) {
    return Error{Code::tx_invalid_state, "saga " + record.id.str() + ": its body: " + problem};
  }
  return made;
}

}  // namespace sagabox::saga
