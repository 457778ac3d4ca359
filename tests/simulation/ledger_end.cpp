#include "simulation/ledger.hpp"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace sagabox::simulation {

using State = Record::State;
using memory::Inspected;

std::vector<const Record*> Ledger::pending_beside(std::uint32_t closed) const {
  const auto of_class = [closed](const Record& record) {
    return record.topic == closed && record.temper != Temper::unroutable;
  };
  std::unordered_set<std::string_view> waiting;
  for (const auto& record : records_) {
    if (of_class(record) && record.state == State::pending) waiting.insert(record.key);
  }
  waiting.erase("");
  std::vector<const Record*> pending;
  for (const auto& record : records_) {
    // The store never lets some end.
    if (record.state == State::pending && !of_class(record) && !waiting.contains(record.key) &&
        record.refusal != Refusal::every_one) {
      pending.push_back(&record);
    }
  }
  return pending;
}

void Ledger::check_end(const std::vector<Inspected>& rows) {
  std::unordered_map<std::uint64_t, const Inspected*> by_number;
  for (const auto& row : rows) {
    const auto number = number_of(row.row.id);
    rule(Event::model_matches_store, number && at(*number).committed_ever,
         [&] { return "the store has a row that nobody committed: " + row.row.id.str(); });
    if (number) by_number[*number] = &row;
  }
  for (const auto& record : records_) {
    const auto found = by_number.find(record.number);
    check_record(record, found == by_number.end() ? nullptr : found->second);
    check_killers(record);
  }
}

void Ledger::check_record(const Record& record, const Inspected* row) {
  if (!record.committed_ever) {
    rule(Event::rolled_back_never_delivered, record.runs.empty() && row == nullptr,
         [&] { return "never committed, yet there: " + describe(record); });
    return;
  }
  const auto says = [&](Inspected::State state) { return row != nullptr && row->state == state; };
  bool matches = false;
  switch (record.state) {
    case State::unwritten:
    case State::lost:
    case State::purged:
      matches = row == nullptr;
      break;
    case State::pending:
      matches = says(Inspected::State::pending) || says(Inspected::State::waiting);
      break;
    case State::done:
      matches =
          settings_.options.retention > Duration{} ? says(Inspected::State::done) : row == nullptr;
      break;
    case State::dead:
      matches = says(Inspected::State::dead);
      break;
    case State::quarantined:
      matches = says(Inspected::State::quarantined);
      break;
  }
  rule(Event::model_matches_store, matches, [&] {
    return "the store says otherwise (" +
           (row == nullptr ? std::string("nothing")
                           : std::to_string(static_cast<int>(row->state))) +
           "): " + describe(record);
  });
  if (record.state == State::lost) return;
  const bool ended = (record.state == State::done && record.done > 0) ||
                     record.state == State::dead || record.state == State::quarantined ||
                     record.state == State::purged;
  // The store never lets it end.
  if (record.state == State::pending && record.refusal == Refusal::every_one) return;
  rule(Event::delivered_or_dead, ended,
       [&] { return "neither delivered nor dead: " + describe(record); });
  if (record.while_closed && ended) statistics_.count(Event::deferred_class_resumed);
}

void Ledger::check_killers(const Record& record) {
  if (!record.committed_ever || record.state == State::lost || record.corrupted) return;
  if (record.temper == Temper::killer) {
    rule(Event::killer_died,
         record.state == State::dead || record.state == State::quarantined ||
             record.state == State::purged,
         [&] { return "kills its processes and lives: " + describe(record); });
    if (any_fail_over_) return;
    const auto kills_max = record.lives * settings_.options.retry.attempts_max;
    rule(Event::killer_bounded, record.kills <= kills_max, [&] {
      return "killed " + std::to_string(record.kills) +
             " processes that had been warned: " + describe(record);
    });
  }
  if (record.temper != Temper::good || record.refusal == Refusal::every_one) return;
  rule(Event::innocent_survived,
       record.state == State::done || record.state == State::purged ||
           record.state == State::quarantined ||
           record.burnt >= settings_.options.retry.attempts_max,
       [&] { return "dead although its handler never failed: " + describe(record); });
  if (any_fail_over_ || any_killer_again_) return;
  rule(Event::innocent_beside_killer_once, record.beside_killer <= record.lives, [&] {
    return "was beside a killer " + std::to_string(record.beside_killer) +
           " times: " + describe(record);
  });
}

}  // namespace sagabox::simulation
