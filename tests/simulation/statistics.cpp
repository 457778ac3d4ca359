#include "simulation/statistics.hpp"

#include <iomanip>
#include <sstream>

namespace sagabox::simulation {
namespace {

constexpr std::array<std::string_view, event_count> names{
    "crash",
    "crash during a handler",
    "crash during a settle",
    "crash between COMMIT and committed()",
    "killed by a message",
    "killed by a message, cautiously",
    "pause",
    "pause past the lease",
    "graceful stop",
    "drain limit reached",
    "wall clock jump",
    "database clock jump",
    "database outage",
    "fail-over",
    "message lost by fail-over",
    "row restored by fail-over",
    "call refused",
    "call lost before its effect",
    "call lost after its effect",
    "settle done for some shards",
    "result refused for good",
    "quarantined for a refused result",
    "row held back, quarantine refused too",
    "commit in doubt",
    "same id written again",
    "commit below what was read",
    "rollback",
    "stale read",
    "corrupted row",
    "handler threw",
    "handler asked for a retry",
    "handler asked for later",
    "handler rejected",
    "handler slow",
    "handler past its deadline",
    "unroutable",
    "hot queue full",
    "cold queue full",
    "places exhausted",
    "class closed",
    "class closed until all others settled",
    "lease lost",
    "hot delivery",
    "attempt taken back at a hand-over",
    "operator replayed",
    "operator quarantined",
    "operator released",
    "operator paused a topic",
    "operator paused the table",
    "operator purged",
    "replay job started",
    "replay job stopped",
    "replay job resumed",
    "replayed by a job",
    "ran after it was quarantined",
    "committed: delivered or dead",
    "rolled back: never delivered",
    "started: was committed",
    "started: was pending",
    "order of a key",
    "order of first deliveries",
    "started: by the owner under lease",
    "one of a message in a process",
    "one of a key in a process",
    "one of a key across processes",
    "stale fence changed nothing",
    "a repeat has a cause",
    "attempts bounded",
    "hand-over spends no attempt",
    "killer died",
    "killer bounded",
    "innocent survived",
    "innocent beside a killer at most once",
    "closed class kept back",
    "closed class delays no other",
    "deferred class resumed",
    "queues bounded",
    "unsettled bounded",
    "tracker bounded",
    "memory of keys bounded",
    "everything settled",
    "nothing left in memory",
    "business rows match",
    "model matches the store",
    "operator's act does what it says",
    "pause does what it says",
    "paused: kept back",
    "purge takes what was asked",
    "replay job counts",
    "replay job leaves nothing",
    "audit log holds",
    "every death is audited",
    "counts add up",
    "no row out of every reader's sight",
};

}  // namespace

std::string_view name_of(Event event) { return names[static_cast<std::size_t>(event)]; }

void Statistics::add(const Statistics& other) {
  for (std::size_t at = 0; at < event_count; ++at) counts_[at] += other.counts_[at];
}

std::vector<Event> Statistics::never() const {
  std::vector<Event> events;
  for (std::size_t at = 0; at < event_count; ++at) {
    if (counts_[at] == 0) events.push_back(static_cast<Event>(at));
  }
  return events;
}

std::string Statistics::table() const {
  std::ostringstream out;
  for (std::size_t at = 0; at < event_count; ++at) {
    if (at == 0) out << "what went wrong                              times\n";
    if (static_cast<Event>(at) == first_rule) {
      out << "what was checked                             comparisons\n";
    }
    out << "  " << std::left << std::setw(40) << names[at] << std::right << std::setw(12)
        << counts_[at] << '\n';
  }
  return out.str();
}

}  // namespace sagabox::simulation
