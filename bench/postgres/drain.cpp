#include "bench/postgres/bench.hpp"

#include "bench/baselines/postgres/drain.hpp"
#include "bench/postgres/duel.hpp"
#include "bench/postgres/relay.hpp"
#include "bench/postgres/world.hpp"

#include <fmt/format.h>

namespace sagabox::bench::postgres {
namespace {

using by_hand::LeaseIn;
using by_hand::Load;

std::vector<Contender> owner_loops(const Size& size, bool retain) {
  std::vector<Contender> sweep;
  for (const int connections : {1, 2, 4}) {
    for (const int batch : {256, 1000, 4000}) {
      sweep.push_back({fmt::format("{} connections, batches of {}", connections, batch), [=] {
                         world().fill(size.rows);
                         return by_hand::owner_loop({.url = world().url(),
                                                     .rows = size.rows,
                                                     .batch = batch,
                                                     .connections = connections,
                                                     .retain = retain});
                       }});
    }
  }
  return sweep;
}

std::vector<Contender> skip_locked_loops(const Size& size) {
  std::vector<Contender> sweep;
  for (const auto lease : {LeaseIn::indexed_column, LeaseIn::plain_column}) {
    for (const int connections : {1, 2, 4}) {
      for (const int batch : {100, 500, 2000}) {
        const auto* where = lease == LeaseIn::indexed_column ? "due" : "not_before";
        sweep.push_back(
            {fmt::format("lease in {}, {} connections, batches of {}", where, connections, batch),
             [=] {
               world().fill(size.rows);
               return by_hand::skip_locked_loop({.url = world().url(),
                                                 .rows = size.rows,
                                                 .batch = batch,
                                                 .connections = connections},
                                                lease);
             }});
      }
    }
  }
  return sweep;
}

double ours(const Size& size, const OutboxOptions& options) {
  world().fill(size.rows);
  return drain(world(), size.rows, options);
}

void against_owner_loop(const std::string& name, const Size& size, bool retain, Report& report) {
  const auto by_hand =
      best_of("hand-written owner loop, rows/s", owner_loops(size, retain), 1, report);
  const auto result = duel(
      size.repeats, [&] { return ours(size, retain ? OutboxOptions{} : deleting()); }, by_hand.run);
  report.add({.name = name,
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name = "owner loop, " + by_hand.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
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
      best_of("hand-written lease + DELETE, rows/s", skip_locked_loops(size), 1, report);
  const auto result =
      duel(size.repeats, [&] { return ours(size, deleting()); }, by_hand.run);
  report.add({.name = "postgres.drain.vs_skip_locked",
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name = by_hand.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 2.2}});
}

}  // namespace sagabox::bench::postgres
