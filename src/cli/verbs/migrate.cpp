#include "cli/exit_codes.hpp"
#include "cli/verbs/schema.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/views/text_table.hpp"
#include "cli/views/view_json.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sagabox::cli {
namespace {

SchemaPlace place_of(const MigrateArguments& arguments, bool must_be_there) {
  // What makes the file may be told one that is not there yet.
  const auto url = must_be_there || arguments.url.empty() || arguments.url.starts_with("memory:")
                       ? store_url(arguments)
                       : arguments.url;
  return {.url = url, .schema = arguments.schema, .shards = arguments.shards};
}

template <class T>
T value_or_throw(Result<T> result) {
  if (!result.ok() && result.error().code == Code::config_invalid) {
    throw WrongUse(result.error().text());
  }
  return std::move(result).value();
}

void must(const Status& status) {
  if (!status.ok() && status.error().code == Code::config_invalid) {
    throw WrongUse(status.error().text());
  }
  status.value();
}

std::vector<Line> steps_view(std::span<const SchemaStep> steps) {
  if (steps.empty()) return {Line().add("nothing was made yet", Style::faint)};
  constexpr auto to_the_right = TextTable::Side::right;
  TextTable table(
      {{"STEP", to_the_right}, {"NAME"}, {"OUTBOX"}, {"SHARDS", to_the_right}, {"APPLIED"}});
  for (const auto& step : steps) {
    table.add({{std::to_string(step.number)},
               {step.name},
               {step.outbox.empty() ? "(all)" : step.outbox},
               {step.shards == 0 ? "-" : std::to_string(step.shards)},
               {step.applied_at ? utc_text(*step.applied_at) : "not yet",
                step.applied_at ? Style::plain : Style::warning}});
  }
  return table.lines();
}

std::string name_of(const SchemaStep& step) {
  return fmt::format("step {} ({}{})", step.number, step.name,
                     step.outbox.empty() ? "" : ", outbox " + step.outbox);
}

void print_steps(const MigrateArguments& arguments, const std::vector<SchemaStep>& steps) {
  Terminal out(stdout);
  if (arguments.json) {
    out.print(schema_json(steps));
    return;
  }
  for (const auto& line : steps_view(steps)) out.print(line);
}

/// Lines of a dry run.
void print_plan(const MigrateArguments& arguments, const std::vector<SchemaStep>& steps,
                const std::vector<std::string>& plan) {
  if (arguments.json) return print_steps(arguments, steps);
  Terminal out(stdout);
  if (plan.empty()) out.print("nothing to do");
  for (const auto& line : plan) out.print(line);
}

}  // namespace

int run_migrate_status(const MigrateArguments& arguments) {
  const auto steps = value_or_throw(schema_status(place_of(arguments, true)));
  print_steps(arguments, steps);
  const bool current = !steps.empty() && std::ranges::all_of(steps, [](const SchemaStep& step) {
    return step.applied_at.has_value();
  });
  return current ? exit_fine : exit_failed;
}

int run_migrate_up(const MigrateArguments& arguments) {
  const auto place = place_of(arguments, false);
  if (!arguments.table.empty()) {
    if (const auto name = TableName::parse(arguments.table); !name.ok()) {
      throw WrongUse(name.error().text());
    }
  }
  if (arguments.act.dry_run) {
    const auto steps = value_or_throw(schema_status(place));
    std::vector<std::string> plan;
    if (steps.empty()) plan.emplace_back("everything would be made");
    for (const auto& step : steps) {
      if (!step.applied_at) plan.push_back(name_of(step) + " would be applied");
    }
    const auto known = [&](const SchemaStep& step) { return step.outbox == arguments.table; };
    if (!arguments.table.empty() && std::ranges::none_of(steps, known)) {
      plan.push_back("outbox " + arguments.table + " would be made");
    }
    print_plan(arguments, steps, plan);
    return exit_fine;
  }
  must(schema_up(place, arguments.table));
  print_steps(arguments, value_or_throw(schema_status(place)));
  return exit_fine;
}

int run_migrate_down(const MigrateArguments& arguments) {
  const auto place = place_of(arguments, true);
  const auto steps = value_or_throw(schema_status(place));
  std::vector<std::string> plan;
  for (const auto& step : steps) {
    if (step.applied_at && step.number > arguments.to) {
      plan.push_back(name_of(step) + " would be taken back, with what is in it");
    }
  }
  if (arguments.act.dry_run || plan.empty()) {
    print_plan(arguments, steps, plan);
    return exit_fine;
  }
  if (!arguments.json && !arguments.act.yes) print_plan(arguments, steps, plan);
  if (!confirmed(
          fmt::format("Take back {} {} of {}?", plan.size(), plan.size() == 1 ? "step" : "steps",
                      arguments.force ? "the schema, undelivered messages too" : "the schema"),
          arguments.act.yes)) {
    return nothing_done();
  }
  const auto done = schema_down(place, arguments.to, arguments.force);
  if (!done.ok() && done.error().code == Code::tx_invalid_state && !arguments.force) {
    throw Failure({done.error().code, done.error().message + " (--force)"});
  }
  must(done);
  print_steps(arguments, value_or_throw(schema_status(place)));
  return exit_fine;
}

int run_reshard(const MigrateArguments& arguments) {
  const auto place = place_of(arguments, true);
  const ReshardOrder look{.outbox = arguments.table, .force = true, .dry_run = true};
  const auto found = value_or_throw(reshard(place, look));
  Terminal out(stdout);
  const auto say = [&](const Reshard& report) {
    if (arguments.json) {
      out.print(reshard_json(arguments.table, report));
      return;
    }
    out.print(fmt::format(
        "{}: {} shards {} {}; {} pending get a shard by the new count, writes "
        "wait for about {}",
        arguments.table, report.shards_before, report.changed ? "became" : "would become",
        report.shards, messages_text(report.pending), age_text(report.blocked)));
    for (const auto& relay : report.relays) {
      out.print(Line("  relay " + relay.str() +
                     (report.changed    ? " runs with the former count: start it again"
                      : arguments.force ? " is running: what it has in hand is delivered again"
                                        : " is running: stop it first, or --force")));
    }
  };
  if (arguments.act.dry_run || found.shards_before == found.shards) {
    say(found);
    return exit_fine;
  }
  if (!arguments.json) say(found);
  if (!confirmed(fmt::format("Change the shards of {} from {} to {}?", arguments.table,
                             found.shards_before, found.shards),
                 arguments.act.yes)) {
    return nothing_done();
  }
  const ReshardOrder order{.outbox = arguments.table, .force = arguments.force, .dry_run = false};
  say(value_or_throw(reshard(place, order)));
  return exit_fine;
}

}  // namespace sagabox::cli
