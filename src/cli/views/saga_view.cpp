#include "cli/views/saga_view.hpp"

#include "cli/views/operator_view.hpp"
#include "cli/views/text_table.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::cli {
namespace {

constexpr std::size_t text_shown_max = 48;
constexpr std::size_t error_shown_max = 80;
constexpr std::size_t detail_shown_max = 120;
constexpr std::size_t digest_shown = 12;

Style saga_style(SagaState state) {
  switch (state) {
    case SagaState::completed:
      return Style::good;
    case SagaState::failed:
      return Style::bad;
    case SagaState::compensating:
    case SagaState::paused:
      return Style::warning;
    case SagaState::running:
    case SagaState::cancelled:
      break;
  }
  return Style::plain;
}

/// "0.4s", "12s", "3m00s".
std::string took_text(Duration duration) {
  constexpr auto exact_below = std::chrono::seconds(10);
  if (duration < Duration::zero()) duration = Duration::zero();
  if (duration >= exact_below) return age_text(duration);
  return fmt::format("{:.1f}s", std::chrono::duration<double>(duration).count());
}

/// "12:00:03", UTC.
std::string clock_text(WallTime time) {
  constexpr std::size_t clock_at = 11;
  constexpr std::size_t clock_length = 8;
  return utc_text(time).substr(clock_at, clock_length);
}

std::string labels_text(const std::vector<SagaLabel>& labels) {
  std::string text;
  for (const auto& label : labels) {
    text += (text.empty() ? "" : " ") + label.name + "=" + label.value;
  }
  return text;
}

std::string saga_name(const SagaView& saga) {
  return fmt::format("{} v{}", saga.definition, saga.definition_version);
}

struct Symbol {
  std::string_view text;
  Style style;
};

Symbol symbol_of(SagaStepState state) {
  switch (state) {
    case SagaStepState::succeeded:
    case SagaStepState::undone:
    case SagaStepState::skipped:
      return {"✓", Style::good};
    case SagaStepState::failed:
    case SagaStepState::undo_failed:
      return {"✗", Style::bad};
    case SagaStepState::held:
    case SagaStepState::undo_held:
    case SagaStepState::unknown:
      return {"?", Style::warning};
    case SagaStepState::pending:
      return {"·", Style::faint};
    default:
      return {"▸", Style::plain};
  }
}

/// Describes what happened to the steps of one saga.
class StepWords {
 public:
  explicit StepWords(WallTime now) : now_(now) {}

  /// The state of the action, then, after an arrow, that of the compensation.
  [[nodiscard]] std::string text(const SagaStepView& step) const {
    const auto back = undoing(step);
    if (back.empty()) return forward(step);
    const auto action = ended_action(step);
    return (action.empty() ? "" : action + "   ") + "→ " + back;
  }

 private:
  [[nodiscard]] static std::string took(const std::optional<WallTime>& from,
                                        const std::optional<WallTime>& to) {
    return from && to ? "  " + took_text(*to - *from) : std::string();
  }
  [[nodiscard]] std::string since(const std::optional<WallTime>& then) const {
    return then ? ", since " + age_text(now_ - *then) : std::string();
  }
  [[nodiscard]] std::string due(const SagaStepView& step) const {
    if (!step.due) return {};
    return *step.due > now_ ? " in " + age_text(*step.due - now_) : std::string(" now");
  }
  [[nodiscard]] static std::string error(const SagaStepView& step) {
    return shortened(step.error, error_shown_max);
  }
  [[nodiscard]] static std::string attempt(const SagaStepView& step, std::uint32_t number) {
    if (step.attempts_max == 0) return fmt::format("attempt {}", number);
    return fmt::format("attempt {} of {}", number, step.attempts_max);
  }
  [[nodiscard]] static std::string failed(const SagaStepView& step, std::string_view what) {
    auto text = step.error.empty() ? std::string(what) : error(step);
    if (step.attempts > 0) text += fmt::format(", attempt {}", step.attempts);
    return text;
  }

  [[nodiscard]] static std::string ended_action(const SagaStepView& step) {
    if (!step.ended_at) return "not answered";
    return "done" + took(step.started_at, step.ended_at);
  }

  [[nodiscard]] std::string forward(const SagaStepView& step) const {
    switch (step.state) {
      case SagaStepState::succeeded:
        return ended_action(step);
      case SagaStepState::failed:
        return failed(step, "failed");
      case SagaStepState::unknown:
        return "in doubt" + (step.error.empty() ? "" : ": " + error(step));
      case SagaStepState::held:
        return "in doubt, waits for a decision" + (step.error.empty() ? "" : ": " + error(step));
      case SagaStepState::running:
        return "is called, " + attempt(step, step.attempts + 1) + since(step.started_at);
      case SagaStepState::retrying:
        return "retry" + due(step) + ", " + attempt(step, step.attempts + 1) +
               (step.error.empty() ? "" : ": " + error(step));
      case SagaStepState::waiting:
        return waiting(step) + since(step.started_at);
      default:
        return "not reached";
    }
  }

  [[nodiscard]] std::string waiting(const SagaStepView& step) const {
    switch (step.wait) {
      case SagaWait::approval:
        return "waits for approval";
      case SagaWait::signal:
        return "waits for signal " + step.waits_for;
      case SagaWait::timer:
        return "timer, due" + due(step);
      case SagaWait::callback:
      case SagaWait::none:
        break;
    }
    return "waits for a reply";
  }

  [[nodiscard]] std::string undoing(const SagaStepView& step) const {
    switch (step.state) {
      case SagaStepState::undoing:
        return "is undone, " + attempt(step, step.attempts + 1) + since(step.undo_started_at);
      case SagaStepState::undo_retrying:
        return "undone again" + due(step) + ", " + attempt(step, step.attempts + 1) +
               (step.error.empty() ? "" : ": " + error(step));
      case SagaStepState::undo_waiting:
        return "waits for the reply to its compensation" + since(step.undo_started_at);
      case SagaStepState::undo_held:
        return "cannot be undone, waits for a decision" +
               (step.error.empty() ? "" : ": " + error(step));
      case SagaStepState::undo_failed:
        return failed(step, "cannot be undone");
      case SagaStepState::undone:
        return "undone" + took(step.undo_started_at, step.undone_at);
      case SagaStepState::skipped:
        return "nothing to undo";
      default:
        return {};
    }
  }

  WallTime now_;
};

Line title(const SagaView& saga) {
  Line line;
  line.add(saga_name(saga), Style::strong).add(" · ");
  line.add(saga_state_name(saga.state), saga_style(saga.state));
  if (saga.quarantined) line.add(" · quarantined", Style::warning);
  auto started = " · started " + age_text(saga.seen_at - saga.started_at) + " ago";
  if (!saga.key.empty()) started += " by key " + shortened(saga.key, text_shown_max);
  if (saga.ended_at) started += ", took " + took_text(*saga.ended_at - saga.started_at);
  return line.add(started);
}

/// Adds the facts that are not in the title, if there are any.
void add_facts(std::vector<Line>& lines, const SagaView& saga) {
  std::string facts = saga.id.str();
  if (saga.tenant != tenant_default) facts += "  tenant " + saga.tenant;
  if (!saga.isolate.empty()) facts += "  isolated by " + shortened(saga.isolate, text_shown_max);
  if (!saga.labels.empty()) facts += "  " + labels_text(saga.labels);
  if (!saga.undo.empty()) facts += "  goes back: " + saga.undo;
  if (saga.deadline && !has_ended(saga.state)) {
    facts += *saga.deadline > saga.seen_at
                 ? "  times out in " + age_text(*saga.deadline - saga.seen_at)
                 : "  its time is over";
  }
  lines.push_back(Line().add("  " + facts, Style::faint));
  if (!saga.definition_stored) {
    lines.push_back(
        Line().add("  " + saga_name(saga) + " is not stored here: names of steps are not known",
                   Style::warning));
  }
  if (!saga.unreadable.empty()) lines.push_back(Line().add("  " + saga.unreadable, Style::bad));
}

/// In columns: a code point takes one.
std::size_t width_of(std::string_view text) { return text_facts(text).characters; }

}  // namespace

std::vector<Line> saga_list(std::span<const SagaView> sagas) {
  if (sagas.empty()) return {Line().add("no saga", Style::faint)};
  TextTable table({{.heading = "id"},
                   {.heading = "definition"},
                   {.heading = "state"},
                   {.heading = "started", .side = TextTable::Side::right},
                   {.heading = "tenant"},
                   {.heading = "key"},
                   {.heading = "labels"}});
  for (const auto& saga : sagas) {
    table.add(
        {{saga.id.str()},
         {saga_name(saga)},
         {std::string(saga_state_name(saga.state)) + (saga.quarantined ? ", quarantined" : ""),
          saga_style(saga.state)},
         {age_text(saga.seen_at - saga.started_at)},
         {saga.tenant},
         {shortened(saga.key, text_shown_max)},
         {labels_text(saga.labels)}});
  }
  return table.lines();
}

std::vector<Line> saga_details(const SagaView& saga) {
  std::vector<Line> lines{title(saga)};
  add_facts(lines, saga);
  std::size_t width = 0;
  std::string later;
  for (const auto& step : saga.steps) {
    if (step.state == SagaStepState::pending) {
      later += (later.empty() ? "" : ", ") + step.name;
    } else {
      width = std::max(width, width_of(step.name));
    }
  }
  const StepWords words(saga.seen_at);
  for (const auto& step : saga.steps) {
    if (step.state == SagaStepState::pending) continue;
    const auto symbol = symbol_of(step.state);
    Line line("  ");
    line.add(symbol.text, symbol.style).add(" " + step.name);
    line.add(std::string(width - width_of(step.name) + 3, ' ') + words.text(step));
    if (step.pivot) line.add("   pivot", Style::faint);
    lines.push_back(std::move(line));
    if (!step.output.empty()) lines.push_back(Line().add("      " + step.output, Style::faint));
  }
  if (!later.empty()) {
    lines.push_back(Line("  ").add("·", Style::faint).add(" " + later + "   not reached"));
  }
  if (!saga.input.empty()) lines.push_back(Line().add("  input " + saga.input, Style::faint));
  return lines;
}

std::vector<Line> saga_changes(const SagaView* before, const SagaView& saga) {
  std::vector<Line> lines;
  const auto at = clock_text(saga.seen_at) + " ";
  const StepWords words(saga.seen_at);
  for (std::size_t number = 0; number < saga.steps.size(); ++number) {
    const auto& step = saga.steps[number];
    const auto* const old =
        before != nullptr && number < before->steps.size() ? &before->steps[number] : nullptr;
    const bool same = old == nullptr ? step.state == SagaStepState::pending
                                     : old->state == step.state && old->attempts == step.attempts;
    if (same) continue;
    const auto symbol = symbol_of(step.state);
    lines.push_back(
        Line(at).add(symbol.text, symbol.style).add(" " + step.name + "   " + words.text(step)));
  }
  const bool moved =
      before == nullptr || before->state != saga.state || before->quarantined != saga.quarantined;
  if (!moved) return lines;
  auto state = Line(at).add(saga_name(saga), Style::strong).add(" · ");
  state.add(saga_state_name(saga.state), saga_style(saga.state));
  if (saga.quarantined) state.add(" · quarantined", Style::warning);
  if (saga.ended_at) state.add(", took " + took_text(*saga.ended_at - saga.started_at));
  // The saga's state comes after the changes that led to it, except for its start.
  lines.insert(before == nullptr && !has_ended(saga.state) ? lines.begin() : lines.end(), state);
  return lines;
}

Line saga_acted_line(const SagaActed& acted, SagaCommandKind kind) {
  Line line(acted.saga.str() + "  ");
  if (acted.applied) {
    const auto done = kind == SagaCommandKind::replay    ? "replayed"
                      : kind == SagaCommandKind::release ? "released"
                                                         : "quarantined";
    return line.add(done, Style::good);
  }
  return line.add("not: ", Style::warning).add(acted.text);
}

std::vector<Line> saga_history_list(const SagaHistory& history) {
  if (history.entries.empty()) return {Line().add("no entry", Style::faint)};
  TextTable table({{.heading = "no", .side = TextTable::Side::right},
                   {.heading = "at"},
                   {.heading = "event"},
                   {.heading = "step"},
                   {.heading = "detail"}});
  for (const auto& entry : history.entries) {
    table.add({{std::to_string(entry.number)},
               {utc_text(entry.at)},
               {entry.event},
               {entry.step},
               {shortened(entry.detail, detail_shown_max)}});
  }
  return table.lines();
}

std::vector<Line> saga_count_list(std::span<const SagaCounted> counts) {
  if (counts.empty()) return {Line().add("no saga", Style::faint)};
  TextTable table({{.heading = "definition"},
                   {.heading = "state"},
                   {.heading = "sagas", .side = TextTable::Side::right},
                   {.heading = "oldest"}});
  for (const auto& count : counts) {
    table.add({{count.definition},
               {std::string(saga_state_name(count.state)), saga_style(count.state)},
               {grouped(count.sagas)},
               {count.oldest ? utc_text(*count.oldest) : ""}});
  }
  return table.lines();
}

std::vector<Line> saga_definition_list(std::span<const SagaDefinitionRecord> definitions) {
  if (definitions.empty()) return {Line().add("no definition", Style::faint)};
  TextTable table({{.heading = "definition"},
                   {.heading = "version", .side = TextTable::Side::right},
                   {.heading = "stored"},
                   {.heading = "digest"}});
  for (const auto& definition : definitions) {
    table.add({{definition.name},
               {std::to_string(definition.version)},
               {utc_text(definition.registered_at)},
               {hex(definition.digest).substr(0, digest_shown)}});
  }
  return table.lines();
}

}  // namespace sagabox::cli
