#include "saga/definition_reader.hpp"

#include "core/duration_text.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"
#include "saga/plan.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace sagabox::saga {
namespace {

using Shape = DefinitionNode::Shape;

/// Reads a node into what it is meant for; gives what is wrong, empty: nothing.
using ReadOne = std::function<std::string(const DefinitionNode&)>;
struct Field {
  std::string name;
  ReadOne read;
};

constexpr auto one_value = "must be a single value";

ReadOne into(std::string& value) {
  return [&value](const DefinitionNode& node) -> std::string {
    if (node.shape != Shape::text) return one_value;
    value = node.text;
    return {};
  };
}

ReadOne into(std::optional<std::string>& value) {
  return [&value](const DefinitionNode& node) { return into(value.emplace())(node); };
}

ReadOne into(bool& value) {
  return [&value](const DefinitionNode& node) -> std::string {
    if (node.text != "true" && node.text != "false") return "write true or false";
    value = node.text == "true";
    return {};
  };
}

ReadOne into(Duration& value) {
  return [&value](const DefinitionNode& node) -> std::string {
    const auto read = duration_from_text(node.text);
    if (!read) return "write a number and a unit: 500ms, 1.5s, 5m, 2h or 7d";
    value = *read;
    return {};
  };
}

template <class Number>
ReadOne into_number(Number& value) {
  return [&value](const DefinitionNode& node) -> std::string {
    const auto* const last = node.text.data() + node.text.size();
    const auto read = std::from_chars(node.text.data(), last, value);
    if (read.ec == std::errc() && read.ptr == last) return {};
    return std::is_integral_v<Number> ? "write a whole number" : "write a number, such as 0.5";
  };
}

template <class Choice>
ReadOne choice(Choice& value, std::vector<std::pair<std::string, Choice>> choices) {
  return [&value, choices = std::move(choices)](const DefinitionNode& node) -> std::string {
    std::string names;
    for (const auto& [name, means] : choices) {
      if (node.shape == Shape::text && node.text == name) {
        value = means;
        return {};
      }
      names += (names.empty() ? "write " : ", ") + name;
    }
    return names;
  };
}

ReadOne into_json(std::string& value) {
  return [&value](const DefinitionNode& node) -> std::string {
    value = json_of(node);
    return {};
  };
}

class Reader {
 public:
  explicit Reader(std::string_view file_name) : file_(file_name) {}

  Result<SagaDefinition> read(const DefinitionNode& node) {
    read_saga(node);
    if (problems_.empty()) check();
    if (problems_.empty()) return std::move(made_);
    std::ranges::stable_sort(problems_, {}, &Problem::line);
    std::string message;
    for (const auto& problem : problems_) {
      if (!message.empty()) message += '\n';
      message += file_;
      if (problem.line != 0) message += ":" + std::to_string(problem.line);
      message += ": " + problem.what;
    }
    return Error{Code::config_invalid, message};
  }

 private:
  struct Problem {
    std::size_t line;
    std::string what;
  };
  static constexpr std::size_t whole = std::size_t(-1);  // for what belongs to no step

  void wrong(std::size_t line, std::string what) { problems_.push_back({line, std::move(what)}); }

  /// Reads the members of a map, and notes on which lines they stand.
  void read_fields(const DefinitionNode& node, const std::string& path, std::size_t step,
                   const std::vector<Field>& fields) {
    if (node.shape != Shape::map) {
      return wrong(node.line, (path.empty() ? "the file" : path) + ": must be a group of settings");
    }
    lines_[{step, ""}] = node.line;
    const auto full = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
    for (const auto& member : node.members) {
      const auto field = std::ranges::find(fields, member.key, &Field::name);
      if (field == fields.end()) {
        unknown(member, path, fields);
        continue;
      }
      lines_[{step, member.key}] = member.line;
      if (const auto problem = field->read(member.value); !problem.empty()) {
        const bool shown = member.value.shape == Shape::text;
        wrong(member.line, full(member.key) +
                               (shown ? " is " + quoted(member.value.text) + "; " : ": ") +
                               problem);
      }
    }
  }

  void unknown(const DefinitionNode::Member& member, const std::string& path,
               const std::vector<Field>& fields) {
    std::vector<std::string> names;
    std::string list;
    for (const auto& field : fields) {
      names.push_back(field.name);
      list += (list.empty() ? "" : ", ") + field.name;
    }
    const auto near = nearest(member.key, names);
    wrong(member.line,
          "unknown key " + quoted(member.key) + (path.empty() ? "" : " under " + path) +
              (near.empty() ? "; there are " + list : "; did you mean \"" + near + "\"?"));
  }

  void read_saga(const DefinitionNode& node) {
    read_fields(node, "", whole,
                {{"saga", into(made_.name)},
                 {"version", into_number(made_.version)},
                 {"timeout", into(made_.timeout)},
                 {"on_stuck", choice<SagaOnStuck>(made_.on_stuck, {{"wait", SagaOnStuck::wait},
                                                                   {"dead", SagaOnStuck::dead}})},
                 {"isolate", into(made_.isolate)},
                 {"labels", [this](const DefinitionNode& labels) { return read_labels(labels); }},
                 {"steps", [this](const DefinitionNode& steps) { return read_steps(steps); }}});
  }

  std::string read_labels(const DefinitionNode& node) {
    if (node.shape != Shape::map) return "write them as NAME: VALUE";
    for (const auto& member : node.members) {
      if (member.value.shape != Shape::text) return "each must be a single value";
      made_.labels.push_back({member.key, member.value.text});
    }
    return {};
  }

  std::string read_steps(const DefinitionNode& node) {
    if (node.shape != Shape::list) return "must be a list";
    made_.steps.resize(node.members.size());
    for (std::size_t i = 0; i < node.members.size(); ++i) {
      read_step(node.members[i].value, i, made_.steps[i]);
    }
    return {};
  }

  void read_step(const DefinitionNode& node, std::size_t index, SagaStep& step) {
    const auto path = "steps[" + std::to_string(index) + "]";
    const auto retry = [this, path](std::string name, RetryPolicy& policy) {
      return [this, path, name, &policy](const DefinitionNode& given) -> std::string {
        read_retry(given, path + "." + name, policy);
        return {};
      };
    };
    using Wait = SagaWait;
    read_fields(
        node, path, index,
        {{"name", into(step.name)},
         {"action", into(step.action)},
         {"compensation", into(step.compensation)},
         {"idempotent", into(step.idempotent)},
         {"pivot", into(step.pivot)},
         {"tag", into(step.tag)},
         {"wait", choice<Wait>(step.wait, {{"callback", Wait::callback},
                                           {"signal", Wait::signal},
                                           {"approval", Wait::approval},
                                           {"timer", Wait::timer}})},
         {"signal", into(step.signal)},
         {"delay", into(step.delay)},
         {"timeout", into(step.timeout)},
         {"attempt_timeout", into(step.attempt_timeout)},
         {"retry", retry("retry", step.retry)},
         {"compensation_retry",
          [&](const DefinitionNode& given) {
            auto& policy = step.compensation_retry.emplace(RetryPolicy::saga());
            return retry("compensation_retry", policy)(given);
          }},
         {"in_doubt", choice<SagaInDoubt>(step.in_doubt, {{"compensate", SagaInDoubt::compensate},
                                                          {"wait", SagaInDoubt::wait}})},
         {"no_compensation",
          choice<SagaNoCompensation>(step.no_compensation, {{"skip", SagaNoCompensation::skip},
                                                            {"wait", SagaNoCompensation::wait}})},
         {"table", into(step.table)},
         {"input", into_json(step.input)},
         {"compensation_input", into_json(step.compensation_input)}});
  }

  void read_retry(const DefinitionNode& node, const std::string& path, RetryPolicy& policy) {
    // The preset first, wherever it stands.
    if (const auto* const preset = node.find("preset")) {
      if (auto found = RetryPolicy::preset(preset->text)) policy = *found;
    }
    const auto is_preset = [](const DefinitionNode& given) -> std::string {
      return RetryPolicy::preset(given.text) ? "" : "write one of patient, persistent, quick, saga";
    };
    auto lines = lines_;
    read_fields(node, path, whole,
                {{"preset", is_preset},
                 {"attempts_max", into_number(policy.attempts_max)},
                 {"backoff_min", into(policy.backoff_min)},
                 {"backoff_max", into(policy.backoff_max)},
                 {"factor", into_number(policy.factor)},
                 {"jitter_min", into_number(policy.jitter_min)},
                 {"jitter_max", into_number(policy.jitter_max)},
                 {"jitter_added_max", into(policy.jitter_added_max)},
                 {"floor", into(policy.floor)}});
    lines_ = std::move(lines);
  }

  void check() {
    for (const auto& problem : problems_of(made_)) {
      const auto step = problem.step.value_or(whole);
      const auto at = lines_.find({step, problem.field});
      const auto line = at != lines_.end() ? at->second : lines_[{step, ""}];
      std::string what;
      if (problem.step) what = "step " + quoted(made_.steps[*problem.step].name) + ": ";
      if (!problem.field.empty()) what += problem.field + ": ";
      wrong(line, what + problem.message);
    }
  }

  std::string file_;
  SagaDefinition made_{};
  std::vector<Problem> problems_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> lines_;
};

}  // namespace

Result<SagaDefinition> read_definition(const DefinitionNode& node, std::string_view file_name) {
  return Reader(file_name).read(node);
}

}  // namespace sagabox::saga
