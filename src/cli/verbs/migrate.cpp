#include "cli/exit_codes.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/views/text_table.hpp"
#include "cli/views/view_json.hpp"
#include "core/text.hpp"

#include <sagabox/open.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::cli {
namespace {

/// Whether opening may create the store.
enum class Making : std::uint8_t { no, yes };

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

std::unique_ptr<spi::SchemaStore> schema_of(const MigrateArguments& arguments, Making making) {
  const bool any = making == Making::yes && !arguments.url.empty();
  const auto url = any ? arguments.url : store_url(arguments);
  return value_or_throw(open_schema(url, {.shards = arguments.shards, .schema = arguments.schema}));
}

/// Throws WrongUse for an invalid name.
std::optional<TableName> outbox_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  auto parsed = TableName::parse(name);
  if (!parsed.ok()) throw WrongUse(parsed.error().text());
  return *std::move(parsed);
}

std::string applied_text(const spi::SchemaStep& step) {
  if (!step.applied_at) return "not yet";
  return utc_text(*step.applied_at) + (step.checksum_differs ? ", by other SQL" : "");
}

std::vector<Line> steps_view(std::span<const spi::SchemaStep> steps) {
  constexpr auto to_the_right = TextTable::Side::right;
  TextTable table({{"ENGINE"},
                   {"STEP", to_the_right},
                   {"NAME"},
                   {"OUTBOX"},
                   {"SHARDS", to_the_right},
                   {"APPLIED"}});
  for (const auto& step : steps) {
    table.add({{step.engine},
               {std::to_string(step.number)},
               {step.name},
               {step.outbox.empty() ? "(all)" : step.outbox},
               {step.shards == 0 ? "-" : std::to_string(step.shards)},
               {applied_text(step),
                step.applied_at && !step.checksum_differs ? Style::plain : Style::warning}});
  }
  return table.lines();
}

std::string name_of(const spi::SchemaStep& step) {
  return fmt::format("step {} ({}{})", step.number, step.name,
                     step.outbox.empty() ? "" : ", outbox " + step.outbox);
}

/// The engines that a call applies to.
std::vector<std::string> engines_of(const MigrateArguments& arguments, bool all) {
  if (!arguments.engine.empty()) return {arguments.engine};
  if (all) return {spi::schema_engines.begin(), spi::schema_engines.end()};
  return {std::string(spi::outbox_engine)};
}

bool is_of(const spi::SchemaStep& step, const std::vector<std::string>& engines) {
  return std::ranges::find(engines, step.engine) != engines.end();
}

void print_steps(const MigrateArguments& arguments, const std::vector<spi::SchemaStep>& steps) {
  Terminal out(stdout);
  if (arguments.json) {
    out.print(schema_json(steps));
    return;
  }
  for (const auto& line : steps_view(steps)) out.print(line);
}

/// Prints the lines of a dry run.
void print_plan(const MigrateArguments& arguments, const std::vector<spi::SchemaStep>& steps,
                const std::vector<std::string>& plan) {
  if (arguments.json) return print_steps(arguments, steps);
  Terminal out(stdout);
  if (plan.empty()) out.print("nothing to do");
  for (const auto& line : plan) out.print(line);
}

}  // namespace

int run_migrate_status(const MigrateArguments& arguments) {
  const auto schema = schema_of(arguments, Making::no);
  const auto steps = value_or_throw(schema->status());
  print_steps(arguments, steps);
  const bool current = std::ranges::all_of(
      steps, [](const spi::SchemaStep& step) { return step.applied_at.has_value(); });
  return current ? exit_fine : exit_failed;
}

int run_migrate_up(const MigrateArguments& arguments) {
  const auto schema = schema_of(arguments, Making::yes);
  const auto outbox = outbox_named(arguments.table);
  const auto engines = engines_of(arguments, true);
  if (arguments.act.dry_run) {
    const auto steps = value_or_throw(schema->status());
    std::vector<std::string> plan;
    for (const auto& step : steps) {
      if (!step.applied_at && is_of(step, engines)) {
        plan.push_back(name_of(step) + " would be applied");
      }
    }
    for (const auto& engine : engines) {
      // Engines without applied steps are shown only if no engine has any.
      if (std::ranges::find(steps, engine, &spi::SchemaStep::engine) == steps.end()) {
        plan.push_back("the tables of " + engine + " would be made");
      }
    }
    const auto known = [&](const spi::SchemaStep& step) { return step.outbox == arguments.table; };
    if (outbox && std::ranges::none_of(steps, known)) {
      plan.push_back("outbox " + arguments.table + " would be made");
    }
    print_plan(arguments, steps, plan);
    return exit_fine;
  }
  for (const auto& engine : engines) {
    const bool has_outboxes = engine == spi::outbox_engine;
    must(schema->up({.engine = engine, .outbox = has_outboxes ? outbox : std::nullopt}));
  }
  print_steps(arguments, value_or_throw(schema->status()));
  return exit_fine;
}

int run_migrate_down(const MigrateArguments& arguments) {
  if (!arguments.to && !arguments.all) {
    throw WrongUse(
        "how far down? say --to N, the last step that stays (sagabox migrate status lists them), "
        "or --all to remove everything");
  }
  const int to = arguments.to.value_or(0);
  const auto schema = schema_of(arguments, Making::no);
  const auto steps = value_or_throw(schema->status());
  const auto engines = engines_of(arguments, arguments.all);
  std::vector<std::string> plan;
  for (const auto& step : steps) {
    if (step.applied_at && step.number > to && is_of(step, engines)) {
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
  // The outbox first: if that is refused, nothing is removed.
  for (const auto& engine : engines) {
    const auto done = schema->down({.engine = engine, .to = to, .force = arguments.force});
    if (!done.ok() && done.error().code == Code::tx_invalid_state && !arguments.force) {
      throw Failure({done.error().code, done.error().message + " (--force)"});
    }
    must(done);
  }
  print_steps(arguments, value_or_throw(schema->status()));
  return exit_fine;
}

int run_reshard(const MigrateArguments& arguments) {
  const auto schema = schema_of(arguments, Making::no);
  const spi::ReshardRequest look{.outbox = outbox_named(arguments.table).value(),
                                 .shards = arguments.shards,
                                 .force = true,
                                 .dry_run = true};
  const auto found = value_or_throw(schema->reshard(look));
  Terminal out(stdout);
  const auto say = [&](const spi::ReshardReport& report) {
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
  auto order = look;
  order.force = arguments.force;
  order.dry_run = false;
  say(value_or_throw(schema->reshard(order)));
  return exit_fine;
}

}  // namespace sagabox::cli
