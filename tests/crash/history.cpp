#include "crash/history.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace sagabox::crash {
namespace {

using Truths = std::unordered_map<std::string, const Truth*>;
using Problems = std::vector<std::string>;
using Kind = Delivered::Kind;

std::string described(const Delivered& one) { return "\"" + one.line() + "\""; }

Truths by_id(const History& history, Problems& problems) {
  Truths truths;
  for (const auto& truth : history.truths) {
    if (!truths.emplace(truth.id, &truth).second) {
      problems.push_back(truth.id + " was committed twice");
    }
  }
  return truths;
}

void check_promises(const History& history, const Truths& truths, Problems& problems) {
  std::set<std::string> not_undone;
  for (const auto& promise : history.promises) {
    if (promise.end != End::rolled_back) not_undone.insert(promise.id);
    if (promise.end == End::committed && !truths.contains(promise.id)) {
      problems.push_back(promise.id + " was committed and is not there");
    }
  }
  for (const auto& promise : history.promises) {
    // Another transaction may have written the same id.
    if (promise.end != End::rolled_back || not_undone.contains(promise.id) ||
        promise.id.starts_with(shared_prefix)) {
      continue;
    }
    if (truths.contains(promise.id)) {
      problems.push_back(promise.id + " was rolled back and is there");
    }
  }
}

void check_deliveries(const History& history, const Truths& truths, Problems& problems) {
  std::set<std::string> done;
  for (const auto& one : history.delivered) {
    const auto truth = truths.find(one.id);
    if (truth == truths.end()) {
      problems.push_back(described(one) + " was never committed");
    } else if (truth->second->sequence != one.sequence) {
      problems.push_back(described(one) + " has sequence " +
                         std::to_string(truth->second->sequence));
    }
    if (one.kind == Kind::done) done.insert(one.id);
  }
  for (const auto& truth : history.truths) {
    if (!done.contains(truth.id)) {
      problems.push_back(truth.id + " (sequence " + std::to_string(truth.sequence) +
                         ") was not delivered");
    }
  }
}

/// A message may begin for the first time when all before it of its key have been delivered.
void check_order(const History& history, const Truths& truths, Problems& problems) {
  struct Key {
    std::vector<const Truth*> due;  // ascending by sequence
    std::size_t next = 0;           // the first that has not been delivered
  };
  std::map<std::string, Key> keys;
  for (const auto& truth : history.truths) {
    if (truth.ordered && !truth.delayed) keys[truth.key].due.push_back(&truth);
  }
  for (auto& [name, key] : keys) std::ranges::sort(key.due, {}, &Truth::sequence);
  std::set<std::string> done;
  std::set<std::string> begun;
  for (const auto& one : history.delivered) {
    const auto found = truths.find(one.id);
    if (found == truths.end()) continue;
    const Truth& truth = *found->second;
    if (!truth.ordered || truth.delayed) continue;
    auto& key = keys[truth.key];
    if (begun.insert(one.id).second && key.next < key.due.size() &&
        key.due[key.next]->sequence < truth.sequence) {
      problems.push_back(described(one) + " overtook " + key.due[key.next]->id + " (sequence " +
                         std::to_string(key.due[key.next]->sequence) + ") of key " + truth.key);
    }
    if (one.kind == Kind::done) done.insert(one.id);
    while (key.next < key.due.size() && done.contains(key.due[key.next]->id)) ++key.next;
  }
}

void check_repeats(const History& history, Problems& problems) {
  std::map<std::uint16_t, std::set<std::uint64_t>> take_overs;
  for (const auto& one : history.take_overs) take_overs[one.shard].insert(one.epoch);
  const auto taken_between = [&](std::uint16_t shard, std::uint64_t first, std::uint64_t second) {
    const auto [low, high] = std::minmax(first, second);
    const auto& epochs = take_overs[shard];
    const auto after = epochs.upper_bound(low);
    return after != epochs.end() && *after <= high;
  };
  std::unordered_map<std::string, std::vector<const Delivered*>> before;
  for (const auto& one : history.delivered) {
    if (one.kind == Kind::held) continue;
    for (const auto* earlier : before[one.id]) {
      const bool again_in_turn = earlier->kind == Kind::failed && earlier->epoch <= one.epoch &&
                                 earlier->attempt < one.attempt;
      if (!again_in_turn && !taken_between(one.shard, earlier->epoch, one.epoch)) {
        problems.push_back(described(one) + " repeats " + described(*earlier) +
                           " though nobody was replaced between");
      }
    }
    before[one.id].push_back(&one);
  }
}

void check_table(const History& history, const Truths& truths, Problems& problems) {
  for (const auto& id : history.pending) problems.push_back(id + " is still pending");
  for (const auto& id : history.buried) problems.push_back(id + " is a dead letter");
  if (!history.retained) {
    for (const auto& id : history.archived) problems.push_back(id + " is kept for no reason");
    return;
  }
  std::set<std::string> archived;
  for (const auto& id : history.archived) {
    if (!archived.insert(id).second) problems.push_back(id + " was settled twice");
    if (!truths.contains(id)) problems.push_back(id + " was settled and never committed");
  }
  for (const auto& truth : history.truths) {
    if (!archived.contains(truth.id)) problems.push_back(truth.id + " is not in the archive");
  }
}

}  // namespace

std::vector<std::string> problems_of(const History& history) {
  Problems problems;
  const auto truths = by_id(history, problems);
  check_promises(history, truths, problems);
  check_deliveries(history, truths, problems);
  check_order(history, truths, problems);
  check_repeats(history, problems);
  check_table(history, truths, problems);
  return problems;
}

}  // namespace sagabox::crash
