#include "outbox/upkeep/purger.hpp"

#include "observe/metric_names.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sagabox::outbox {
namespace {

constexpr Duration purge_retry_min = std::chrono::seconds(1);
constexpr Duration purge_retry_max = std::chrono::seconds(60);
constexpr std::uint32_t purge_doublings_max = 6;
constexpr Duration purge_ownership_poll = std::chrono::seconds(1);

std::size_t index(MessageState state) { return static_cast<std::size_t>(state); }

}  // namespace

Purger::Purger(Parts parts, PurgerOptions options)
    : parts_(std::move(parts)),
      options_(options),
      shard_(parts_.live),
      strays_(parts_.metrics.gauge(metric::outbox_strays, {{"table", parts_.table.str()}})) {
  strays_.set(0);
}

std::optional<PurgePlan> Purger::plan(BootTime now) {
  const auto tenure = shard_.tenure(now);
  if (!tenure) {
    // If only the lease is interrupted, the tenure may stay the same, so the round is kept.
    if (!parts_.live(now)) return std::nullopt;
    forget();
    return std::nullopt;
  }
  if (tenure_ != tenure) {
    forget();
    tenure_ = tenure;
  }
  if (now < resume_at_) return std::nullopt;
  if (!in_round_) begin_round();
  if (!shard_.begin_call(*tenure)) return std::nullopt;
  return PurgePlan{*tenure, steps_.front().call};
}

BootTime Purger::next(BootTime now) const {
  const auto tenure = shard_.tenure(now);
  if (!tenure) return now + purge_ownership_poll;
  return tenure_ == tenure ? std::max(now, resume_at_) : now;
}

PurgeAnswer Purger::perform(const PurgePlan& plan) const {
  if (const auto* purge = std::get_if<PurgePlan::Purge>(&plan.call)) {
    return parts_.store.purge({.table = parts_.table,
                               .state = purge->state,
                               .older_than = purge->older_than,
                               .rows_max = options_.rows_max});
  }
  return parts_.store.strays(parts_.table, options_.strays_max);
}

void Purger::apply(const PurgePlan& plan, PurgeAnswer answer, BootTime now) {
  const bool ours = shard_.end_call(plan.tenure);
  const auto* purge = std::get_if<PurgePlan::Purge>(&plan.call);
  bool finished = true;
  if (purge != nullptr) {
    const auto& reply = std::get<Result<spi::PurgeReply>>(answer);
    // Count deleted rows even if the scope has another owner now.
    if (reply.ok()) finished = purged(purge->state, *reply);
    if (!ours) return;
    if (!reply.ok()) return failed(reply.error(), now);
  } else {
    const auto& strays = std::get<Result<std::vector<spi::Stray>>>(answer);
    if (!ours) return;
    if (!strays.ok()) return failed(strays.error(), now);
    report(*strays);
  }
  failures_ = 0;
  steps_.front().failures = 0;
  if (finished) steps_.pop_front();
  if (steps_.empty()) end_round(now);
}

void Purger::begin_round() {
  in_round_ = true;
  purged_ = {};
  given_up_ = 0;
  steps_.push_back({PurgePlan::Strays{}});
  for (const auto& [state, kept] :
       {std::pair{MessageState::done, options_.done}, std::pair{MessageState::dead, options_.dead},
        std::pair{MessageState::pending, options_.pending}}) {
    if (kept) steps_.push_back({PurgePlan::Purge{state, *kept}});
  }
}

void Purger::end_round(BootTime now) {
  in_round_ = false;
  resume_at_ = now + options_.interval;
  const bool nothing = given_up_ == 0 && purged_ == decltype(purged_){};
  parts_.log.log(nothing ? LogLevel::debug : LogLevel::info, "purged",
                 {{"table", std::string_view(parts_.table.str())},
                  {"done", purged_[index(MessageState::done)]},
                  {"dead", purged_[index(MessageState::dead)]},
                  {"pending", purged_[index(MessageState::pending)]},
                  {"steps_given_up", std::uint64_t{given_up_}}});
}

void Purger::forget() {
  if (!tenure_) return;
  tenure_.reset();
  steps_.clear();
  in_round_ = false;
  resume_at_ = BootTime::min();
  failures_ = 0;
  // The owner of the scope reports the number.
  strays_.set(0);
}

void Purger::report(const std::vector<spi::Stray>& strays) {
  strays_.set(static_cast<double>(strays.size()));
  for (const auto& stray : strays) {
    parts_.log.log(LogLevel::error, "pending row that no reader would find",
                   {{"table", std::string_view(parts_.table.str())},
                    {"sequence", stray.sequence.value},
                    {"id", stray.id.view()},
                    {"why", std::string_view(stray.why)}});
  }
}

bool Purger::purged(MessageState state, const spi::PurgeReply& reply) {
  purged_[index(state)] += reply.rows;
  if (reply.rows > 0) {
    parts_.metrics
        .counter(metric::outbox_purged_total,
                 {{"table", parts_.table.str()}, {"state", state_name(state)}})
        .add(static_cast<double>(reply.rows));
  }
  // If there are more rows but none was deleted, other transactions lock them; the next round tries
  // again.
  return !reply.more || reply.rows == 0;
}

void Purger::failed(const Error& error, BootTime now) {
  const auto delay = purge_retry_min * (1U << std::min(failures_, purge_doublings_max));
  resume_at_ = now + std::min<Duration>(delay, purge_retry_max);
  ++failures_;
  auto step = std::move(steps_.front());
  steps_.pop_front();
  ++step.failures;
  const bool again = step.failures < options_.attempts_max;
  const auto* purge = std::get_if<PurgePlan::Purge>(&step.call);
  parts_.log.log(again ? LogLevel::warning : LogLevel::error,
                 again ? "purge failed, will be tried again" : "purge failed until the next round",
                 {{"table", std::string_view(parts_.table.str())},
                  {"step", purge == nullptr ? "strays" : state_name(purge->state)},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)},
                  {"failures", std::uint64_t{step.failures}}});
  if (again) {
    // Retry after the other steps, so that a failure for one state does not delay the others.
    steps_.push_back(std::move(step));
    return;
  }
  ++given_up_;
  if (steps_.empty()) end_round(now);
}

}  // namespace sagabox::outbox
