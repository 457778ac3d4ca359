#include "bench/baselines/sqlite/hub.hpp"
#include "bench/baselines/sqlite/link.hpp"
#include "bench/hub/bench.hpp"
#include "bench/hub/load.hpp"
#include "bench/hub/rate.hpp"
#include "bench/sqlite/world.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace sagabox::bench::hub {
namespace {

/// A new file with so many events and their subscriptions, whose ids it returns.
std::vector<std::string> published_in_file(const RateLoad& load) {
  sqlite::world().clear();
  const auto store = sqlite::world().open();
  store->hub().value().events.prepare().value();
  auto ids = subscribe(*store, load.fan_out, load.url);
  publish(*store, load.events);
  return ids;
}

void require_in_file(const RateLoad& load) {
  by_hand::sqlite::Link link(sqlite::world().path());
  const auto seen = link.sql(
      "SELECT (SELECT count(*) FROM sagabox_hub_event) || ' ' || "
      "(SELECT count(*) FROM sagabox_hub_delivery) || ' ' || "
      "(SELECT count(*) FROM sagabox_hub_delivery WHERE state = 'completed' AND attempt = 1) || "
      "' ' || (SELECT count(*) FROM sagabox_hub_job) || ' ' || "
      "(SELECT count(*) FROM sagabox_hub_job WHERE state = 'completed' AND seen)");
  const auto wanted = fmt::format("{0} {1} {1} {1} {1}", load.events, load.events * load.fan_out);
  if (seen != wanted) {
    throw std::runtime_error(
        fmt::format("events, deliveries, completed ones, jobs and completed ones are {}, not {}",
                    seen, wanted));
  }
}

double rate_in_file(const RateLoad& load) {
  (void)published_in_file(load);
  const auto rate = deliveries_rate(*sqlite::world().open(), load.events * load.fan_out);
  require_in_file(load);
  return rate;
}

std::vector<Contender> row_loops_in_file(const RateLoad& load) {
  std::vector<Contender> sweep;
  for (const int batch : {2000, 500, 100}) {
    sweep.push_back({fmt::format("batches of {}", batch), [load, batch] {
                       const auto ids = published_in_file(load);
                       const auto rate = by_hand::sqlite::hub_loop(
                           sqlite::world().path(), ids, load.events * load.fan_out, batch);
                       require_in_file(load);
                       return rate;
                     }});
  }
  return sweep;
}

}  // namespace

void sqlite_rate(const Size& size, Report& report) {
  add_rate({.name = "hub.sqlite.rate", .ours = rate_in_file, .rows = row_loops_in_file}, size,
           report);
}

}  // namespace sagabox::bench::hub
