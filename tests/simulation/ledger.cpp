#include "simulation/ledger.hpp"

#include <algorithm>
#include <charconv>
#include <ranges>
#include <utility>

namespace sagabox::simulation {

using State = Record::State;

std::string Ledger::id_of(std::uint64_t number) { return "m" + std::to_string(number); }

std::optional<std::uint64_t> Ledger::number_of(const MessageId& id) {
  const auto text = id.view();
  std::uint64_t number = 0;
  if (text.empty() || text[0] != 'm') return std::nullopt;
  const auto parsed = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

std::string describe(const Record& record) {
  std::string text =
      Ledger::id_of(record.number) + " (sequence " + std::to_string(record.sequence.value) +
      ", shard " + std::to_string(record.shard.value) + ", key \"" + record.key + "\", topic " +
      std::to_string(record.topic) + ", temper " + std::to_string(static_cast<int>(record.temper)) +
      ", state " + std::to_string(static_cast<int>(record.state)) + ", attempts " +
      std::to_string(record.attempts) + ", done " + std::to_string(record.done) +
      (record.delayed ? ", delayed" : "") + (record.finished ? ", finished" : "") + "; runs";
  for (const auto& run : record.runs) {
    text += " [p" + std::to_string(run.process) + " epoch " + std::to_string(run.epoch.value) +
            " attempt " + std::to_string(run.attempt) + (run.cautious ? " cautious" : "") +
            (run.running ? " running" : "") + (run.gone ? " gone" : "") +
            (run.settled ? run.to_retry ? " retried" : " settled" : "") + "]";
  }
  return text + ")";
}

void Ledger::rule(Event event, bool kept, const std::function<std::string()>& text) {
  statistics_.count(event);
  if (!kept) violate_(std::string(name_of(event)) + ": " + text());
}

Record& Ledger::add(Record record) {
  record.number = records_.size();
  records_.push_back(std::move(record));
  return records_.back();
}

void Ledger::line_up(const Record& record) {
  if (record.key.empty() || record.delayed || record.finished) return;
  lines_[record.key].emplace(record.sequence, record.number);
}

void Ledger::leave_line(const Record& record) {
  const auto line = lines_.find(record.key);
  if (line == lines_.end()) return;
  std::erase_if(line->second, [&](const auto& place) { return place.second == record.number; });
}

void Ledger::committed(const Written& written, bool class_closed, bool late) {
  const auto number = number_of(written.id);
  if (!number) return;
  auto& record = at(*number);
  if (written.duplicate) return;
  // Deleted as done, or lost, and then written again.
  if (record.committed_ever && record.state != State::lost) ++record.excused;
  if (record.state == State::lost) ++record.excused;
  leave_line(record);
  change(record, State::pending);
  record.committed = ++commits_;
  record.sequence = written.sequence;
  record.shard = written.shard;
  record.attempts = 0;
  record.corrupted = false;
  record.committed_ever = true;
  record.while_closed = record.while_closed || class_closed;
  record.late = late;
  line_up(record);
}

void Ledger::corrupted(std::uint64_t number) {
  at(number).corrupted = true;
  leave_line(at(number));
}

void Ledger::change(Record& record, State state) {
  record.state = state;
  ++record.changes;
  record.ended_at = now_();
}

void Ledger::may_run_again(Record& record) {
  record.finished = false;
  record.attempts = 0;
  // An attempt that was written ahead went with the attempts.
  record.cautious_in = 0;
  record.spent_in_vain = 0;
  ++record.lives;
  any_killer_again_ = any_killer_again_ || record.temper == Temper::killer;
  for (auto& run : record.runs) run.followed = run.followed || !run.running;
  if (!record.runs.empty()) ++record.excused;
}

void Ledger::replayed(std::uint64_t number, Sequence sequence, Shard shard) {
  auto& record = at(number);
  change(record, State::pending);
  record.committed = ++commits_;
  record.sequence = sequence;
  record.shard = shard;
  record.delayed = false;
  record.late = false;
  may_run_again(record);
  if (!record.corrupted) line_up(record);
}

void Ledger::quarantined(std::uint64_t number) {
  auto& record = at(number);
  if (record.state == State::pending) record.pulled.insert(record.sequence);
  change(record, State::quarantined);
  leave_line(record);
}

void Ledger::released(std::uint64_t number) {
  auto& record = at(number);
  change(record, State::pending);
  // It has been overtaken: its key does not wait for it.
  record.delayed = true;
  may_run_again(record);
}

void Ledger::purged(std::uint64_t number) { change(at(number), State::purged); }

void Ledger::started(const Start& start, const spi::Census& truth) {
  auto& record = at(start.number);
  const auto& owner = truth.shards[start.shard.value];
  const bool live =
      std::find(truth.live.begin(), truth.live.end(), start.worker) != truth.live.end();
  const bool holds = live && owner.owner == start.worker && owner.epoch == start.epoch;
  rule(Event::start_is_committed, record.committed_ever, [&] {
    return "a handler began for a message that was never committed: " + describe(record);
  });
  if (start.knows_timeline && !settings_.database_jumps) {
    rule(Event::starter_holds_shard, holds, [&] {
      return "p" + std::to_string(start.process) + " began " + describe(record) +
             " without holding its shard" + (live ? "" : " (no lease)");
    });
  }
  check_state(record, start, holds);
  check_beside(record, start, truth, holds);
  if (record.runs.empty() && record.sequence == start.sequence && start.knows_timeline) {
    check_order(record, start);
  }
  check_repeat(record, start, holds);
  rule(Event::attempts_bounded, start.attempt <= settings_.options.retry.attempts_max,
       [&] { return "attempt " + std::to_string(start.attempt) + " of " + describe(record); });
  rule(Event::closed_class_kept_back, !start.class_closed || start.cautious,
       [&] { return "began although its class is closed: " + describe(record); });
  rule(Event::paused_kept_back, !start.paused || start.cautious,
       [&] { return "began although its process knows of a pause: " + describe(record); });
  record.runs.push_back({.process = start.process,
                         .worker = start.worker,
                         .epoch = start.epoch,
                         .sequence = start.sequence,
                         .attempt = start.attempt,
                         .cautious = start.cautious});
  running_.push_back({record.number, record.runs.size() - 1});
}

void Ledger::check_state(const Record& record, const Start& start, bool holds) {
  if (!holds || !start.knows_timeline || record.state == State::lost) return;
  if (record.pulled.contains(start.sequence)) return statistics_.count(Event::pulled_and_run);
  rule(Event::start_is_pending, record.state == State::pending && record.sequence == start.sequence,
       [&] {
         return "p" + std::to_string(start.process) + " began sequence " +
                std::to_string(start.sequence.value) +
                ", which is not pending: " + describe(record);
       });
}

void Ledger::check_beside(const Record& record, const Start& start, const spi::Census& truth,
                          bool holds) {
  for (const auto& ref : running_) {
    const auto& other = at(ref.number);
    const auto& run = other.runs[ref.run];
    const bool same_process = run.process == start.process;
    if (same_process) {
      // Replayed while a handler of it still runs (pulled from under it, or left over from a lost
      // lease), it is another row.
      const bool again = run.sequence != start.sequence;
      rule(Event::one_of_message_in_process, other.number != record.number || again, [&] {
        return "two handlers at once in p" + std::to_string(start.process) + ": " +
               describe(record);
      });
    }
    if (record.key.empty() || other.key.empty()) continue;
    if (same_process) {
      rule(Event::one_of_key_in_process, other.key != record.key,
           [&] { return describe(record) + " began beside " + describe(other); });
      continue;
    }
    const auto& owner = truth.shards[other.shard.value];
    if (owner.owner != run.worker || owner.epoch != run.epoch || !start.knows_timeline) continue;
    // A database whose clock jumps ahead ends leases that their workers believe in.
    if (!holds && settings_.database_jumps) continue;
    rule(Event::one_of_key_across_processes, other.key != record.key, [&] {
      return describe(record) + " began beside " + describe(other) + ", whose owner has it still";
    });
  }
}

bool Ledger::settled_for_good(const Record& record) const {
  return record.finished || record.corrupted || record.state != State::pending ||
         record.attempts >= settings_.options.retry.attempts_max;
}

void Ledger::check_order(const Record& record, const Start& start) {
  if (record.key.empty() || record.state != State::pending) return;
  const bool block = settings_.options.head_policy == HeadPolicy::block;
  for (const auto& [sequence, number] : lines_[record.key]) {
    if (sequence >= record.sequence) break;
    const auto& earlier = at(number);
    // Reading the last seconds again finds late rows, but not always before later ones: a
    // transaction may outlast the window, and the window may not fit into a page.
    if (earlier.late && settings_.late_commits == spi::LateCommits::window) continue;
    // Whoever replays does not take turns with the producers of a key.
    if (record.lives > 1 && earlier.committed > record.committed) continue;
    rule(Event::order_of_first_deliveries, !earlier.runs.empty() || settled_for_good(earlier), [&] {
      return "p" + std::to_string(start.process) + " began " + describe(record) +
             " before an earlier one of its key, " + describe(earlier);
    });
    if (!block) continue;
    rule(Event::order_of_key, settled_for_good(earlier), [&] {
      return "p" + std::to_string(start.process) + " began " + describe(record) +
             " before an earlier one of its key had ended, " + describe(earlier);
    });
  }
  // The line holds those that have not ended; one that did was in order too.
  statistics_.count(Event::order_of_first_deliveries);
  statistics_.count(Event::order_of_key, block ? 1 : 0);
}

void Ledger::check_repeat(Record& record, const Start& start, bool holds) {
  if (record.runs.empty()) return;
  const auto cause = std::find_if(record.runs.begin(), record.runs.end(), [&](const Run& run) {
    if (run.followed) return false;
    const bool elsewhere = run.worker != start.worker || run.epoch != start.epoch;
    // An operator took it away before this run had ended; the row of the other begins anew.
    const bool pulled = record.pulled.contains(run.sequence) && run.sequence != start.sequence;
    return run.gone || run.to_retry || pulled || (elsewhere && !run.settled);
  });
  if (cause != record.runs.end()) {
    statistics_.count(Event::repeat_has_cause);
    cause->followed = true;
    return;
  }
  // A database whose clock jumps ahead ends leases that their workers believe in.
  const bool expired = !holds && settings_.database_jumps;
  const bool excused = record.excused > 0 || !start.knows_timeline || expired ||
                       record.pulled.contains(start.sequence);
  if (record.excused > 0) --record.excused;
  rule(Event::repeat_has_cause, excused, [&] {
    return "p" + std::to_string(start.process) + " began again, without a cause, " +
           describe(record);
  });
}

void Ledger::ended(const End& end) {
  auto& record = at(end.number);
  std::erase_if(running_, [&](const RunRef& ref) {
    auto& run = at(ref.number).runs[ref.run];
    if (ref.number != end.number || run.process != end.process || run.sequence != end.sequence) {
      return false;
    }
    run.running = false;
    return true;
  });
  if (record.cautious_in == end.process) record.cautious_in = 0;
  if (end.done) ++record.done;
  // Pulled from under its handler and replayed, it has not ended with this run.
  if (!end.final || record.sequence != end.sequence) return;
  record.finished = true;
  leave_line(record);
}

void Ledger::process_gone(std::uint64_t process, std::optional<std::uint64_t> killer) {
  std::erase_if(running_,
                [&](const RunRef& ref) { return at(ref.number).runs[ref.run].process == process; });
  bool cautious = false;
  if (killer) {
    for (const auto& run : at(*killer).runs) {
      cautious = cautious || (run.process == process && run.running && run.cautious);
    }
    if (cautious) ++at(*killer).kills;
  }
  for (auto& record : records_) {
    for (auto& run : record.runs) {
      if (run.process != process) continue;
      run.running = false;
      run.gone = run.gone || !run.settled;
    }
    if (record.cautious_in != process) continue;
    record.cautious_in = 0;
    if (cautious && record.number != *killer) ++record.beside_killer;
  }
}

void Ledger::settled(const spi::Settlement& item, const WorkerId& worker, std::uint64_t process) {
  const auto number = number_of(item.id);
  if (!number) return;
  auto& record = at(*number);
  if (record.state != State::pending || record.sequence != item.sequence) return;
  const auto attempts = std::exchange(record.attempts, item.attempts);
  rule(Event::attempts_bounded, item.attempts <= settings_.options.retry.attempts_max,
       [&] { return std::to_string(item.attempts) + " attempts written for " + describe(record); });
  switch (item.verdict) {
    case spi::Verdict::attempt:
      // Past its deadline, it still has an outcome to come.
      if (item.code == Code::tx_timeout) return;
      // Neither: a settle in doubt that is repeated.
      if (item.attempts > attempts) {
        ++record.burnt;
        record.cautious_in = process;
      } else if (item.attempts < attempts) {
        statistics_.count(Event::attempt_taken_back);
        --record.burnt;
        record.cautious_in = 0;
      }
      return;
    case spi::Verdict::done:
      change(record, State::done);
      break;
    case spi::Verdict::dead:
      change(record, State::dead);
      break;
    case spi::Verdict::park:
      change(record, State::quarantined);
      break;
    case spi::Verdict::retry:
      break;
  }
  if (record.state != State::pending) {
    record.finished = true;
    leave_line(record);
  }
  for (auto& run : std::views::reverse(record.runs)) {
    const bool other = run.worker != worker || run.sequence != item.sequence;
    if (other || run.settled || run.running) continue;
    run.settled = true;
    run.to_retry = item.verdict == spi::Verdict::retry;
    break;
  }
}

bool Ledger::runs_in(const Record& record, std::uint64_t process) {
  return std::any_of(record.runs.begin(), record.runs.end(),
                     [&](const Run& run) { return run.process == process && run.running; });
}

void Ledger::shard_acquired(std::uint64_t process, Shard shard) {
  for (auto& record : records_) {
    if (record.shard != shard) continue;
    record.spent_in_vain = 0;
    // An attempt on its way when the shard was lost before may have been written after that.
    if (record.cautious_in == process && !runs_in(record, process)) record.cautious_in = 0;
  }
}

void Ledger::shard_lost(std::uint64_t process, Shard shard) {
  for (auto& record : records_) {
    if (record.cautious_in != process || record.shard != shard) continue;
    const bool runs = runs_in(record, process);
    if (!runs) record.cautious_in = 0;
    record.spent_in_vain = runs ? 0 : process;
  }
}

void Ledger::handed_over(std::uint64_t process, Shard shard) {
  for (auto& record : records_) {
    if (record.shard != shard || record.state != State::pending) continue;
    const bool spent = record.spent_in_vain == process;
    record.spent_in_vain = 0;
    rule(Event::hand_over_spends_nothing, !spent,
         [&] { return "handed over with an attempt that was not made: " + describe(record); });
  }
}

void Ledger::checkpoint() {
  saved_.emplace();
  for (const auto& record : records_) {
    saved_->push_back({record.state, record.sequence, record.shard, record.attempts,
                       record.corrupted, record.ended_at, record.delayed});
  }
}

void Ledger::failed_over() {
  if (!saved_) return;
  any_fail_over_ = true;
  for (auto& record : records_) {
    const bool known = record.number < saved_->size();
    const auto before =
        known ? (*saved_)[record.number] : Saved{State::unwritten, {}, {}, 0, false, {}, false};
    leave_line(record);
    if (before.state == State::unwritten || before.state == State::lost) {
      if (record.state == State::unwritten || record.state == State::lost) continue;
      change(record, State::lost);
      statistics_.count(Event::fail_over_lost_message);
      continue;
    }
    if (before.state == State::pending && !record.runs.empty()) {
      // Whatever became of its runs since the checkpoint has not happened.
      record.excused += 1;
    }
    if (before.state == State::pending && record.state != State::pending) {
      statistics_.count(Event::fail_over_restored_row);
    }
    change(record, before.state);
    record.ended_at = before.ended_at;
    record.delayed = before.delayed;
    record.sequence = before.sequence;
    record.shard = before.shard;
    record.attempts = before.attempts;
    record.spent_in_vain = 0;
    record.corrupted = before.corrupted;
    if (record.state == State::pending) line_up(record);
  }
}

}  // namespace sagabox::simulation
