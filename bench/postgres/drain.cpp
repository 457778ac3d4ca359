#include "bench/baselines/postgres/drain.hpp"

#include "bench/duel.hpp"
#include "bench/postgres/bench.hpp"
#include "bench/postgres/relay.hpp"
#include "bench/postgres/world.hpp"

#include <fmt/format.h>

namespace sagabox::bench::postgres {
namespace {

using by_hand::LeaseIn;
using by_hand::Load;

/// A full table, then `run`; says what processor time a message took.
double measured(const std::string& who, const Size& size, Report& report,
                const std::function<double()>& run) {
  world().fill(size.rows);
  const auto before = world().cpu();
  const auto rate = run();
  report.note(fmt::format("  {:<48}{:>9.0f}/s, {}", who, rate,
                          cpu_text(world().cpu() - before, static_cast<double>(size.rows))));
  return rate;
}

double ours(const Size& size, const OutboxOptions& options, Report& report) {
  return measured("ours", size, report, [&] { return drain(world(), size.rows, options); });
}

/// The first is the one that wins on two cores.
std::vector<Contender> owner_loops(const Size& size, bool retain, Report& report) {
  std::vector<Contender> sweep;
  for (const int connections : {4, 2, 1}) {
    for (const int batch : {4000, 1000, 250}) {
      const auto name = fmt::format("{} connections, batches of {}", connections, batch);
      sweep.push_back({name, [=, &report] {
                         return measured(name, size, report, [=] {
                           return by_hand::owner_loop({.url = world().url(),
                                                       .rows = size.rows,
                                                       .batch = batch,
                                                       .connections = connections,
                                                       .retain = retain});
                         });
                       }});
    }
  }
  return sweep;
}

std::vector<Contender> skip_locked_loops(const Size& size, Report& report) {
  std::vector<Contender> sweep;
  for (const auto lease : {LeaseIn::plain_column, LeaseIn::indexed_column}) {
    for (const int connections : {2, 1, 4}) {
      for (const int batch : {2000, 500, 100}) {
        const auto* where = lease == LeaseIn::indexed_column ? "due" : "not_before";
        const auto name =
            fmt::format("lease in {}, {} connections, batches of {}", where, connections, batch);
        sweep.push_back({name, [=, &report] {
                           return measured(name, size, report, [=] {
                             return by_hand::skip_locked_loop({.url = world().url(),
                                                               .rows = size.rows,
                                                               .batch = batch,
                                                               .connections = connections},
                                                              lease);
                           });
                         }});
      }
    }
  }
  return sweep;
}

void against_owner_loop(const std::string& name, const Size& size, bool retain, Report& report) {
  const auto by_hand =
      best_of("hand-written owner loop", owner_loops(size, retain, report), size, report);
  const auto result = duel(
      size.repeats, [&] { return ours(size, retain ? OutboxOptions{} : deleting(), report); },
      by_hand.run);
  report.add({.name = name,
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name = "owner loop, " + by_hand.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

/// False where this build has no such mode.
template <class Options>
bool compete(Options& options) {
  if constexpr (requires { options.claim; }) {
    options.claim = decltype(options.claim)::competing;
    return true;
  } else {
    return false;
  }
}

}  // namespace

void drain_delete(const Size& size, Report& report) {
  against_owner_loop("postgres.drain.delete", size, false, report);
}

void drain_retain(const Size& size, Report& report) {
  against_owner_loop("postgres.drain.retain", size, true, report);
}

void drain_vs_skip_locked(const Size& size, Report& report) {
  const auto by_hand =
      best_of("hand-written lease + DELETE", skip_locked_loops(size, report), size, report);
  const auto result =
      duel(size.repeats, [&] { return ours(size, deleting(), report); }, by_hand.run);
  report.add({.name = "postgres.drain.vs_skip_locked",
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name = by_hand.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 2.2}});
}

void drain_competing(const Size& size, Report& report) {
  const std::string name = "postgres.drain.competing";
  auto options = deleting();
  if (!compete(options)) return report.skip(name, "this build has no mode competing");
  const auto by_hand =
      best_of("hand-written lease + DELETE", skip_locked_loops(size, report), size, report);
  const auto run = [&] {
    return measured("ours, competing", size, report,
                    [&] { return drain_shared(world(), size.rows, options); });
  };
  const auto result = duel(size.repeats, run, by_hand.run);
  report.add({.name = name,
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name = by_hand.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

}  // namespace sagabox::bench::postgres
