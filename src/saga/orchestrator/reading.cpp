#include "saga/orchestrator/orchestrator.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::saga {
namespace {

constexpr std::size_t ids_max = 1000;
constexpr std::uint32_t due_rows_max = 500;
constexpr Duration read_retry_min = std::chrono::milliseconds(10);
constexpr Duration read_retry_max = std::chrono::seconds(1);

}  // namespace

std::uint32_t Orchestrator::room() const {
  if (flights_.size() >= options_.calls_max || entries_.size() >= options_.instances_max) return 0;
  const auto instances = options_.instances_max - static_cast<std::uint32_t>(entries_.size());
  return std::min(instances, options_.read_rows_max);
}

std::uint32_t Orchestrator::inbox_room() const {
  const auto reserve = std::min(options_.instances_max / 4 + 1, options_.read_rows_max);
  const auto instances_max = std::size_t{options_.instances_max} + reserve;
  if (entries_.size() >= instances_max) return 0;
  const auto instances = instances_max - entries_.size();
  return static_cast<std::uint32_t>(std::min<std::size_t>(instances, options_.read_rows_max));
}

std::optional<ReadStep> Orchestrator::plan_read(BootTime now) {
  const std::scoped_lock lock(mutex_);
  if (!live(now) || now < read_retry_at_) return std::nullopt;
  auto step = plan_ids();
  if (!step) step = plan_due(now);
  if (!step) {
    if (auto plan = reader_.plan(now, inbox_room()))
      step = ReadStep{ReadStep::Inbox{*std::move(plan)}};
  }
  if (step) ++reads_out_;
  return step;
}

std::optional<ReadStep> Orchestrator::plan_ids() {
  ReadStep::Ids ids;
  while (!wanted_.empty() && ids.ids.size() < ids_max) {
    auto* const entry = find(wanted_.front());
    if (entry != nullptr && entry->wanted && !entry->gone) ids.ids.push_back(entry->id);
    wanted_.pop_front();
  }
  if (ids.ids.empty()) return std::nullopt;
  return ReadStep{std::move(ids)};
}

std::optional<ReadStep> Orchestrator::plan_due(BootTime now) {
  // Replies and signals must have room beside what is due.
  const auto free = room();
  if (free < options_.read_rows_max / 4) return std::nullopt;
  for (std::size_t step = 0; step < shards_.size(); ++step) {
    due_turn_ = (due_turn_ + 1) % shards_.size();
    auto& owned = shards_[due_turn_];
    if (!owned.ours || owned.draining || now < owned.due_at) continue;
    if (now >= owned.full_at) {
      owned.full_at = now + options_.full_pass_interval;
      owned.due_after = {};
      owned.due_id = {};
    }
    return ReadStep{ReadStep::Due{.range = {.shard = Shard{static_cast<std::uint16_t>(due_turn_)},
                                            .after_due = owned.due_after,
                                            .after = owned.due_id,
                                            .rows_max = std::min(free, due_rows_max)},
                                  .tenure = owned.tenure}};
  }
  return std::nullopt;
}

ReadAnswer Orchestrator::perform(const ReadStep& step) const {
  if (const auto* ids = std::get_if<ReadStep::Ids>(&step.what)) {
    return parts_.store.load(ids->ids);
  }
  if (const auto* due = std::get_if<ReadStep::Due>(&step.what)) {
    return parts_.store.load_due(parts_.definition, due->range);
  }
  const auto& plan = std::get<ReadStep::Inbox>(step.what).plan;
  std::vector<spi::SagaInboxRange> ranges;
  ranges.reserve(plan.ranges.size());
  for (const auto& range : plan.ranges) {
    ranges.push_back({.shard = range.shard, .after = range.after, .rows_max = range.rows_max});
  }
  return parts_.store.read_inbox(parts_.definition, ranges, options_.read_bytes_max);
}

void Orchestrator::apply(const ReadStep& step, ReadAnswer answer, BootTime now) {
  bool woken = false;
  {
    const std::scoped_lock lock(mutex_);
    if (auto* inbox = std::get_if<Result<spi::SagaInboxReply>>(&answer)) {
      const auto& plan = std::get<ReadStep::Inbox>(step.what);
      if (!inbox->ok()) {
        reader_.failed(plan.plan, now);
        read_failed(inbox->error(), now);
      } else {
        read_failures_ = 0;
        apply_inbox(plan, **inbox, now);
      }
    } else {
      auto& records = std::get<Result<std::vector<SagaRecord>>>(answer);
      const auto* const ids = std::get_if<ReadStep::Ids>(&step.what);
      if (!records.ok()) {
        read_failed(records.error(), now);
        if (ids != nullptr) {
          for (const auto& id : ids->ids) wanted_.push_back(id);
        }
      } else {
        read_failures_ = 0;
        if (ids != nullptr) {
          apply_ids(*ids, *records);
        } else {
          apply_due(std::get<ReadStep::Due>(step.what), *records, now);
        }
      }
    }
    --reads_out_;
    for (const auto& id : std::exchange(gone_, {})) {
      const auto* const entry = find(id);
      if (entry != nullptr && entry->gone) entries_.erase(id);
    }
    woken = !ready_.empty();
  }
  if (woken) parts_.wake_writer();
}

void Orchestrator::apply_inbox(const ReadStep::Inbox& step, spi::SagaInboxReply& reply,
                               BootTime now) {
  if (reply.timeline != timeline_) {
    reader_.discard(step.plan);
    if (auto* const worker = worker_.load()) worker->timeline_changed(reply.timeline);
    return;
  }
  spi::FeedReply<SagaCommand> rows;
  rows.rows = std::move(reply.rows);
  for (const auto& part : reply.parts) rows.parts.push_back({part.rows, part.exhausted});
  rows.horizon = std::move(reply.horizon);
  rows.timeline = reply.timeline;
  auto taken = reader_.apply(step.plan, std::move(rows), now);
  for (auto& [row, place] : taken.rows) arrived(std::move(row), place);
}

void Orchestrator::arrived(SagaCommand command, const feed::RowPlace& place) {
  const auto shard = place.shard;
  auto& entry = entry_for(command.saga, shard);
  const bool is_new = entry.phase == Entry::Phase::loading && !entry.wanted;
  if (entry.phase == Entry::Phase::absent) ++absent_;
  entry.events.push_back({.event = CommandArrived{std::move(command)}, .place = place});
  if (is_new) {
    want(entry);
  } else {
    mark_ready(entry);
  }
}

void Orchestrator::apply_ids(const ReadStep::Ids& step, std::vector<SagaRecord>& records) {
  std::unordered_map<SagaId, const SagaRecord*> found;
  for (const auto& record : records) found.emplace(record.id, &record);
  for (const auto& id : step.ids) {
    auto* const entry = find(id);
    // One that was removed meanwhile, as its shard is given away, goes when this read has been
    // looked at.
    if (entry == nullptr || entry->gone || !entry->wanted) continue;
    entry->wanted = false;
    const auto at = found.find(id);
    if (at != found.end()) {
      if (take_in(*entry, *at->second)) settle_down(*entry, parts_.clock.wall_now());
      continue;
    }
    entry->phase = Entry::Phase::absent;
    absent_ += waiting_of(*entry);
    if (entry->events.empty()) {
      remove(*entry);
    } else {
      mark_ready(*entry);
    }
  }
}

bool Orchestrator::take_in(Entry& entry, const SagaRecord& record) {
  const auto hold = [&](Code code, const std::string& text) {
    // Its commands stay in the inbox, and in hand.
    found(entry, code, text);
    entry.events.clear();
    forget_calls(entry);
    set_timer(entry, std::nullopt);
    entries_.erase(SagaId(entry.id));
    return false;
  };
  const auto* const plan = parts_.plans.find(record.definition_version);
  if (plan == nullptr) {
    return hold(Code::config_invalid,
                "it runs version " + std::to_string(record.definition_version) + " of " +
                    parts_.definition +
                    ", which this process does not know; register that version, too");
  }
  auto instance = from_record(record);
  if (!instance.ok()) return hold(instance.error().code, instance.error().message);
  if (instance->steps.size() != plan->steps().size()) {
    return hold(Code::tx_invalid_state, "its steps are not those of its definition");
  }
  auto& owned = shards_[entry.shard.value];
  const bool from_before = instance->epoch != owned.epoch.value;
  const bool clean =
      from_before ? !owned.unclean && instance->epoch + 1 == owned.epoch.value : true;
  // Calls that this process has lost sight of count like those of another one.
  const bool lost_calls = !from_before && (has_calls(*instance) || !entry.calls.empty());
  forget_calls(entry);
  entry.plan = plan;
  entry.phase = Entry::Phase::present;
  entry.unsaved = false;
  entry.instance = std::move(instance).value();
  entry.instance->epoch = owned.epoch.value;
  if (from_before) {
    entry.events.push_front({.event = TakenOver{clean}});
  } else if (lost_calls) {
    // Results that came before go first.
    const auto first = std::ranges::find_if(entry.events, [](const Incoming& event) {
      return !std::holds_alternative<CallEnded>(event.event);
    });
    entry.events.insert(first, {.event = TakenOver{false}});
  }
  forget_finding(entry.id);
  return true;
}

void Orchestrator::apply_due(const ReadStep::Due& step, std::vector<SagaRecord>& records,
                             BootTime now) {
  if (!is_ours(step.range.shard, step.tenure)) return;
  auto& owned = shards_[step.range.shard.value];
  // A rewind that came while the read was on its way still stands.
  const bool rewound = owned.due_after < step.range.after_due;
  for (const auto& record : records) {
    if (!rewound && record.due) {
      owned.due_after = *record.due;
      owned.due_id = record.id;
    }
    if (const auto* const known = find(record.id); known != nullptr) continue;
    auto& entry = entry_for(record.id, step.range.shard);
    if (!take_in(entry, record)) continue;
    entry.events.push_back({.event = TimePassed{}});
    mark_ready(entry);
  }
  const bool exhausted = records.size() < step.range.rows_max;
  owned.due_at = exhausted && !rewound ? now + options_.due_interval : now;
}

void Orchestrator::read_failed(const Error& error, BootTime now) {
  errors_.count(error.code);
  read_retry_at_ =
      now + std::min(read_retry_max, read_retry_min * (1 << std::min(read_failures_, 7U)));
  ++read_failures_;
  parts_.log.log(LogLevel::warning, "read of sagas failed, will be tried again",
                 {{"definition", std::string_view(parts_.definition)},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)}});
}

BootTime Orchestrator::next_read(BootTime now) const {
  const std::scoped_lock lock(mutex_);
  if (!live(now)) return now + options_.poll_interval;
  if (!wanted_.empty()) return std::max(now, read_retry_at_);
  auto next = inbox_room() > 0 ? reader_.next(now) : now + options_.poll_interval;
  if (room() >= options_.read_rows_max / 4) {
    for (const auto& owned : shards_) {
      if (owned.ours && !owned.draining) next = std::min(next, owned.due_at);
    }
  }
  return std::max({next, read_retry_at_, now});
}

}  // namespace sagabox::saga
