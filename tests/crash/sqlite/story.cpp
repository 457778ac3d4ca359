#include "crash/sqlite/story.hpp"

#include "support/sqlite_database.hpp"

#include <sagabox/store.hpp>

#include <algorithm>

namespace sagabox::crash {
namespace {

using testing::rows_of;
using testing::run_sql;

/// In the numbers of `Place`.
constexpr const char* places_sql = R"sql(
SELECT id, CASE WHEN due IS NULL THEN 0 ELSE 1 END, seq FROM orders_pending
UNION ALL
SELECT id, 2, seq FROM orders_archive
UNION ALL
SELECT id, CASE state WHEN 'dead' THEN 3 ELSE 4 END, seq FROM orders_dead
)sql";

/// Whether the store counts what is there.
bool is_counted(sqlite3* connection, Store& store) {
  const auto stats = store.outbox_admin().stats(TableName::parse("orders").value()).value();
  const auto count = [&](const std::string& from) {
    return std::stoull(run_sql(connection, "SELECT count(*) FROM " + from).at(0));
  };
  return stats.pending == count("orders_pending") &&
         stats.waiting == count("orders_pending WHERE due IS NOT NULL") &&
         stats.done == count("orders_archive") &&
         stats.dead == count("orders_dead WHERE state = 'dead'") &&
         stats.quarantined == count("orders_dead WHERE state = 'quarantined'");
}

std::string difference(const Places& found, const Places& expected) {
  for (const auto& [id, place] : expected) {
    const auto known = found.find(id);
    if (known == found.end()) return id + " is not there";
    if (known->second != place) {
      return id + " is in place " + std::to_string(static_cast<int>(known->second)) + ", not in " +
             std::to_string(static_cast<int>(place));
    }
  }
  for (const auto& [id, place] : found) {
    if (!expected.contains(id)) return id + " should not be there";
  }
  return {};
}

}  // namespace

void Story::shown(const std::string& id, std::size_t at) {
  for (auto& deed : deeds) {
    if (!deed.changes.contains(id)) continue;
    deed.certain = std::min(deed.certain, at);
    return;
  }
}

std::string Story::problem(const Places& found, std::size_t cut, bool is_durable) const {
  std::size_t least = 0;
  std::size_t most = 0;
  for (std::size_t at = 0; at < deeds.size(); ++at) {
    if (is_durable && deeds[at].certain <= cut) least = at + 1;
    if (deeds[at].begun < cut) most = at + 1;
  }
  most = std::max(most, least);
  Places expected;
  std::string first_problem;
  for (std::size_t done = 0; done <= most; ++done) {
    if (done > 0) {
      for (const auto& [id, place] : deeds[done - 1].changes) expected[id] = place;
    }
    if (done < least) continue;
    const auto problem = difference(found, expected);
    if (problem.empty()) return {};
    if (first_problem.empty()) {
      first_problem =
          problem + " (" + std::to_string(least) + " to " + std::to_string(most) + " transactions)";
    }
  }
  return first_problem;
}

Found look_into(sqlite3* connection, Store* store) {
  Found found;
  for (const auto& row : rows_of(connection, "PRAGMA integrity_check")) {
    if (row.at(0) != "ok") found.problems.push_back("damaged: " + row[0]);
  }
  std::map<std::string, std::string> ledger;
  for (const auto& row : rows_of(connection, "SELECT id, seq FROM ledger")) {
    ledger[row.at(0)] = row.at(1);
    found.places[row[0]] = Place::gone;
  }
  for (const auto& row : rows_of(connection, places_sql)) {
    const auto& id = row.at(0);
    const auto line = ledger.find(id);
    if (line == ledger.end()) {
      found.problems.push_back(id + " is there without what was done with it");
      continue;
    }
    auto& place = found.places[id];
    if (place != Place::gone) found.problems.push_back(id + " lies in two places");
    place = static_cast<Place>(std::stoi(row.at(1)));
    if (line->second != row.at(2)) {
      found.problems.push_back(id + " has sequence " + row[2] + ", written as " + line->second);
    }
  }
  if (store != nullptr && !is_counted(connection, *store)) {
    found.problems.emplace_back("the counts are not what is there");
  }
  return found;
}

}  // namespace sagabox::crash
