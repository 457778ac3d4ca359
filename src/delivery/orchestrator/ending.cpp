#include "delivery/orchestrator/orchestrator.hpp"
#include "spi/hub_rules.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sagabox::delivery {
namespace {

/// The dead delivery in the audit log.
AuditEvent death_of(const DeliveryRecord& delivery, WallTime at) {
  return {.kind = AuditKind::dead_letter,
          .at = at,
          .table = "hub",
          .tenant = delivery.tenant,
          .topic = delivery.type,
          .message_id = delivery.id.str(),
          .attempt = delivery.attempt,
          .digest = {},
          .traceparent = {},
          .code = std::string(code_name(delivery.code.value_or(Code::tx_deadletter))),
          .detail = "event " + delivery.event.str() + " for subscription " +
                    delivery.subscription.str() + ", generation " +
                    std::to_string(delivery.generation),
          .actor = {}};
}

/// Its endpoint has made the hub disable it.
AuditEvent disabling_of(const Ending& cause, WallTime at) {
  AuditEvent event{.kind = AuditKind::hub_subscription_disabled, .at = at};
  event.table = "hub";
  event.tenant = cause.delivery.tenant;
  event.message_id = cause.delivery.subscription.str();
  event.detail = cause.disable;
  return event;
}

}  // namespace

EndAnswer Orchestrator::perform(const EndStep& step) const {
  struct Visitor {
    const OrchestratorParts& parts;
    EndAnswer operator()(const ReadEnded& step) const {
      return parts.store.ended(step.tenure.shard, step.rows_max);
    }
    EndAnswer operator()(const ReadDoomed& step) const {
      return parts.store.doomed(step.tenure.shard, step.subscription, doomed_rows_max);
    }
    EndAnswer operator()(const ReadFailing& step) const {
      return parts.health.failing_since(step.subscription, step.within);
    }
    EndAnswer operator()(const DisableSubscription& step) const {
      return parts.store.disable({scope, step.fences.owner, step.fences.of}, step.subscription,
                                 step.change, step.reason, step.audit);
    }
    EndAnswer operator()(const Bury& step) const { return parts.store.bury(step.ids); }
    EndAnswer operator()(const ChangeDeliveries& step) const {
      const spi::Fencing fencing{scope, step.fences.owner, step.fences.of};
      return step.unsent ? parts.store.end_unsent(fencing, step.changes)
                         : parts.store.change(fencing, step.changes);
    }
    EndAnswer operator()(const MarkSeen& step) const { return parts.store.seen(step.jobs); }
    EndAnswer operator()(const AppendAudit& step) const { return parts.audit->append(step.events); }
  };
  return std::visit(Visitor{parts_}, step);
}

void Orchestrator::apply(const EndStep& step, EndAnswer answer, BootTime now) {
  const std::scoped_lock lock(mutex_);
  std::visit([&](const auto& one) { apply_one(one, answer, now); }, step);
}

void Orchestrator::end_failed(const Error& error, std::string_view what, BootTime now) {
  errors_.count(error.code);
  end_retry_.failed(now);
  parts_.log.log(LogLevel::warning, what,
                 {{"code", code_name(error.code)}, {"error", std::string_view(error.message)}});
}

std::optional<EndStep> Orchestrator::plan_end(BootTime now) {
  const std::scoped_lock lock(mutex_);
  if (!live(now) || now < end_retry_.at()) return std::nullopt;
  unpark(now);
  if (auto step = plan_seen(false)) return step;
  if (auto step = plan_stage()) return step;
  return plan_ending(now);
}

std::optional<EndStep> Orchestrator::plan_ending(BootTime now) {
  // Where the store is slow, reading is always due: it takes turns with the rest.
  end_turn_ = (end_turn_ + 1) % 3;
  if (end_turn_ == 0) {
    if (auto step = plan_ended(now)) return step;
  }
  if (end_turn_ == 1) {
    if (auto step = plan_question()) return step;
  }
  next_batch();
  if (auto step = plan_stage()) return step;
  if (auto step = plan_doomed()) return step;
  if (auto step = plan_ended(now)) return step;
  if (auto step = plan_question()) return step;
  return plan_seen(true);
}

std::optional<EndStep> Orchestrator::plan_question() const {
  if (questions_.empty()) return std::nullopt;
  return questions_.front();
}

std::optional<EndStep> Orchestrator::plan_ended(BootTime now) {
  for (std::size_t looks = shards_.size(); looks > 0; --looks) {
    if (known_results_.size() >= options_.results_max + parked_batches_.size()) break;
    ended_turn_ = (ended_turn_ + 1) % shards_.size();
    const Shard shard{static_cast<std::uint16_t>(ended_turn_)};
    auto& one = shards_[shard.value];
    // Before the first scan has ended it is not known what a result belongs to.
    if (!works_on(shard) || !one.scanned || now < one.ended_at) continue;
    one.ended_at = now + options_.look_interval;
    return ReadEnded{.tenure = tenure_of(shard), .rows_max = one.ended_rows};
  }
  return std::nullopt;
}

std::optional<EndStep> Orchestrator::plan_doomed() {
  while (!doomed_.empty()) {
    auto* const line = find_line(doomed_.front());
    doomed_.pop_front();
    if (line == nullptr) continue;
    line->dooming = false;
    if (!works_on(line->shard) || !line->doom) continue;
    return ReadDoomed{.tenure = tenure_of(line->shard), .subscription = line->id};
  }
  return std::nullopt;
}

std::optional<EndStep> Orchestrator::plan_seen(bool any) {
  if (unseen_.empty() || (!any && unseen_.size() < options_.batch_rows_max)) return std::nullopt;
  return MarkSeen{.jobs = std::exchange(unseen_, {})};
}

void Orchestrator::see(const spi::AttemptOf& job) { unseen_.push_back(job); }

/// What is not ours any more is shown to whoever has the shard now, which may be this process.
void Orchestrator::keep_ours(EndBatch& batch) {
  std::erase_if(batch.items, [&](const Ending& item) {
    if (is_ours(item.tenure)) return false;
    known_results_.erase({.delivery = item.delivery.id, .attempt = item.delivery.attempt});
    return true;
  });
  std::erase_if(batch.stale, [&](const StaleResult& result) {
    if (is_ours(result.tenure)) return false;
    known_results_.erase(result.of);
    return true;
  });
}

std::optional<EndStep> Orchestrator::plan_stage() {
  using Stage = EndBatch::Stage;
  while (!batches_.empty()) {
    auto& batch = batches_.front();
    keep_ours(batch);
    if (batch.empty()) {
      batches_.pop_front();
      continue;
    }
    if (batch.stage == Stage::disable) {
      const auto first = std::ranges::find_if(
          batch.items, [](const Ending& item) { return !item.disable.empty(); });
      if (first != batch.items.end()) {
        return plan_disable(*first);
      }
      batch.stage = Stage::bury;
    }
    if (batch.stage == Stage::bury) {
      Bury step;
      for (const auto& item : batch.items) {
        if (item.bury) step.ids.push_back(item.delivery.id);
      }
      if (!step.ids.empty()) return step;
      batch.stage = Stage::audit;
    }
    if (batch.stage == Stage::audit) {
      if (auto step = plan_audit(batch)) return step;
      batch.stage = Stage::change;
    }
    return plan_change(batch);
  }
  return std::nullopt;
}

EndStep Orchestrator::plan_disable(const Ending& cause) const {
  DisableSubscription step{.fences = {},
                           .subscription = cause.delivery.subscription,
                           .change = cause.disable_change,
                           .reason = cause.disable,
                           .audit = {}};
  (void)add_fence(step.fences, cause.tenure.shard);
  if (parts_.audit != nullptr) step.audit = {disabling_of(cause, parts_.clock.wall_now())};
  return step;
}

std::optional<EndStep> Orchestrator::plan_audit(const EndBatch& batch) const {
  AppendAudit step;
  for (const auto& item : batch.items) {
    const bool dies = item.delivery.state == DeliveryState::dead;
    if (dies) step.events.push_back(death_of(item.delivery, parts_.clock.wall_now()));
  }
  if (parts_.audit == nullptr || step.events.empty()) return std::nullopt;
  return step;
}

EndStep Orchestrator::plan_change(EndBatch& batch) {
  ChangeDeliveries step{.fences = {}, .changes = {}, .unsent = batch.unsent};
  // One owner a call: of a worker that has started over there may be two.
  auto mine =
      batch.take([&](const Ending& item) { return add_fence(step.fences, item.tenure.shard); });
  std::erase_if(batch.stale, [&](const StaleResult& result) {
    if (!add_fence(step.fences, result.tenure.shard)) return false;
    mine.stale.push_back(result);
    return true;
  });
  std::swap(batch, mine);
  for (const auto& item : batch.items) step.changes.push_back(change_of(item.delivery));
  if (!mine.empty()) batches_.push_back(std::move(mine));
  return step;
}

void Orchestrator::unpark(BootTime now) {
  std::erase_if(parked_batches_, [&](auto& one) {
    if (one.first > now) return false;
    batches_.push_back(std::move(one.second));
    return true;
  });
}

void Orchestrator::apply_one(const DisableSubscription& step, EndAnswer& answer, BootTime now) {
  auto& disabled = std::get<Result<spi::DeliveryStore::DisableReply>>(answer);
  if (!disabled.ok() && may_be_repeated(disabled.error().code)) {
    return end_failed(disabled.error(), "a subscription could not be disabled", now);
  }
  if (!disabled.ok()) {
    end_failed(disabled.error(), "a subscription cannot be disabled", now);
    // It is as it was: its deliveries go on.
    if (auto* const line = find_line(step.subscription)) line->stopped = line->doom = false;
  }
  if (disabled.ok()) {
    fences_broken(step.fences, disabled->held);
    // Whoever has the shard now decides by what it has seen.
    if (std::ranges::find(disabled->held, false) != disabled->held.end()) return;
  }
  for (auto& item : batches_.front().items) {
    if (item.delivery.subscription == step.subscription) item.disable.clear();
  }
  subscriptions_at_ = {};
  parts_.wake_starter();
  if (!disabled.ok() || !disabled->disabled) return;
  end_retry_.succeeded();
  ++totals_.disabled;
  figures_.disabled.increment();
  parts_.log.log(
      LogLevel::warning, "a subscription is disabled",
      {{"subscription_id", step.subscription.view()}, {"reason", std::string_view(step.reason)}});
}

void Orchestrator::apply_one(const Bury&, EndAnswer& answer, BootTime now) {
  const auto& buried = std::get<Status>(answer);
  if (!buried.ok()) {
    return batch_failed(buried.error(), "snapshots of dead deliveries could not be kept", now);
  }
  end_retry_.succeeded();
  batches_.front().stage = EndBatch::Stage::audit;
}

void Orchestrator::apply_one(const ChangeDeliveries& step, EndAnswer& answer, BootTime now) {
  auto& reply = std::get<Result<spi::DeliveryStore::ChangeReply>>(answer);
  if (!reply.ok()) {
    return batch_failed(reply.error(), "results of deliveries could not be written", now);
  }
  end_retry_.succeeded();
  fences_broken(step.fences, reply->held);
  if (std::ranges::find(reply->held, false) != reply->held.end()) return;  // the rest: once more
  auto batch = std::move(batches_.front());
  batches_.pop_front();
  keep_ours(batch);
  for (const auto& result : batch.stale) see(result.of);
  const std::set<spi::AttemptOf> done(reply->changed.begin(), reply->changed.end());
  for (auto& item : batch.items) {
    const spi::AttemptOf of{.delivery = item.delivery.id, .attempt = item.delivery.attempt};
    if (done.contains(of)) {
      changed(item, batch.unsent, now);
    } else {
      superseded(item, batch.unsent, now);
    }
  }
}

void Orchestrator::changed(const Ending& item, bool unsent, BootTime now) {
  const auto& delivery = item.delivery;
  findings_.remove(delivery.id);
  show_end(item);
  forget_ended(item, unsent);
  auto* const line = find_line(delivery.subscription);
  if (line == nullptr) return;
  if (delivery.state == DeliveryState::pending) look_at(*line, delivery.next_attempt_at, now);
  // The next of its key may go now, or one that was added late and goes before it.
  if (!delivery.key.empty()) line->look_from_start();
  consider(*line, now);
  parts_.wake_starter();
}

/// No delivery is at that attempt any more: the result is another's, or has been counted.
void Orchestrator::superseded(const Ending& item, bool unsent, BootTime now) {
  if (!unsent) {
    log_about(LogLevel::warning, "a result is not applied: its attempt has ended before",
              item.delivery);
  }
  forget_ended(item, unsent);
  if (auto* const line = find_line(item.delivery.subscription)) consider(*line, now);
}

void Orchestrator::forget_ended(const Ending& item, bool unsent) {
  if (unsent) return;
  const auto& id = item.delivery.id;
  if (attempts_.erase(id) > 0) --under_way_;
  if (scan_out_) ended_meanwhile_.insert(id);
  see({.delivery = id, .attempt = item.delivery.attempt});
}

void Orchestrator::show_end(const Ending& item) {
  const auto& delivery = item.delivery;
  switch (delivery.state) {
    case DeliveryState::completed:
      ++totals_.completed;
      figures_.completed(
          std::chrono::duration<double>(parts_.clock.wall_now() - delivery.created_at).count());
      return log_about(LogLevel::debug, "a delivery is completed", delivery);
    case DeliveryState::dead:
      ++totals_.dead;
      figures_.died(delivery.code.value_or(Code::tx_deadletter));
      return log_about(LogLevel::error, "a delivery is dead", delivery);
    default:
      figures_.retried();
      return log_about(LogLevel::info, "an attempt of a delivery failed", delivery);
  }
}

void Orchestrator::batch_failed(const Error& error, std::string_view what, BootTime now) {
  if (may_be_repeated(error.code)) return end_failed(error, what, now);
  auto batch = std::move(batches_.front());
  batches_.pop_front();
  if (!batch.stale.empty()) {
    // Nothing is written for these; they are shown again.
    for (const auto& result : batch.stale) known_results_.erase(result.of);
    batch.stale.clear();
  }
  if (batch.items.empty()) return end_failed(error, what, now);
  if (batch.items.size() > 1) {
    std::size_t number = 0;
    const auto half = batch.items.size() / 2;
    batches_.push_back(batch.take([&](const Ending&) { return number++ < half; }));
    batches_.push_back(std::move(batch));
    return;
  }
  auto& delivery = batch.items.front().delivery;
  findings_.add(delivery.id, error.code, "the store refuses what became of it: " + error.message,
                parts_.clock.wall_now());
  log_about(LogLevel::error, what, delivery);
  parked_batches_.emplace_back(now + options_.parked_interval, std::move(batch));
}

void Orchestrator::apply_one(const MarkSeen& step, EndAnswer& answer, BootTime now) {
  const auto& seen = std::get<Status>(answer);
  if (!seen.ok()) {
    unseen_.insert(unseen_.end(), step.jobs.begin(), step.jobs.end());
    return end_failed(seen.error(), "jobs could not be marked as seen", now);
  }
  end_retry_.succeeded();
  for (const auto& of : step.jobs) known_results_.erase(of);
}

void Orchestrator::apply_one(const AppendAudit& step, EndAnswer& answer, BootTime now) {
  const auto& appended = std::get<Result<AuditHead>>(answer);
  if (!appended.ok() && may_be_repeated(appended.error().code)) {
    return end_failed(appended.error(), "dead deliveries could not be added to the audit log", now);
  }
  if (appended.ok()) {
    end_retry_.succeeded();
  } else {
    // Nothing would ever end where an operator has to put the log right first.
    errors_.count(appended.error().code);
    parts_.log.log(LogLevel::error, "dead deliveries are not in the audit log",
                   {{"deliveries", std::uint64_t{step.events.size()}},
                    {"code", code_name(appended.error().code)},
                    {"error", std::string_view(appended.error().message)}});
  }
  batches_.front().stage = EndBatch::Stage::change;
}

BootTime Orchestrator::next_end(BootTime now) const {
  const std::scoped_lock lock(mutex_);
  if (!live(now)) return now + options_.poll_interval;
  if (!results_.empty() || !batches_.empty() || !unseen_.empty() || !questions_.empty() ||
      !doomed_.empty()) {
    return std::max(now, end_retry_.at());
  }
  auto next = BootTime::max();
  for (const auto& one : shards_) {
    if (one.ours && !one.draining && one.scanned) next = std::min(next, one.ended_at);
  }
  for (const auto& [at, batch] : parked_batches_) next = std::min(next, at);
  return std::max(next, end_retry_.at());
}

}  // namespace sagabox::delivery
