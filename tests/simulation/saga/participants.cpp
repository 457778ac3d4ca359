#include "simulation/saga/participants.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::simulation {
namespace {

using saga::CallResult;
using std::chrono::milliseconds;

template <class To>
void sooner(std::optional<WallTime>& best, const To& other) {
  if (other && (!best || *other < *best)) best = other;
}

}  // namespace

std::size_t Participants::step_of(const std::string& name) const {
  const auto at = std::ranges::find(rules_, name, &StepRule::name);
  return static_cast<std::size_t>(at - rules_.begin());
}

const BookEntry& Participants::entry(const SagaId& saga, std::size_t step) const {
  static const BookEntry nothing;
  const auto at = books_.find({saga, step});
  return at == books_.end() ? nothing : at->second;
}

void Participants::called(std::uint64_t process, saga::CallOrder order,
                          saga::CallResults& results) {
  Open open{.process = process, .order = std::move(order), .results = &results};
  const auto step = step_of(open.order.step);
  if (open.order.call.key.direction == BarrierDirection::compensation) check_order(open, step);
  plan(open);
  open_.push_back(std::move(open));
}

/// A step is compensated when what follows it is compensated, and no call beside it can still take
/// effect without our knowing.
void Participants::check_order(const Open& open, std::size_t step) {
  const auto group = rules_[step].group;
  for (std::size_t other = 0; other < rules_.size(); ++other) {
    const auto& book = entry(open.order.saga, other);
    if (rules_[other].group > group && rules_[other].undoable && book.done > 0 && !book.undone) {
      parts_.violated("step " + open.order.step + " is compensated before " + rules_[other].name);
    }
  }
  const auto now = parts_.now();
  for (const auto& beside : open_) {
    if (beside.order.saga != open.order.saga || beside.process != open.process) continue;
    if (beside.order.call.key.direction != BarrierDirection::action) continue;
    if (rules_[step_of(beside.order.step)].group < group) continue;
    if (beside.answer_at && beside.order.call.deadline > now &&
        beside.order.epoch == open.order.epoch && step_of(beside.order.step) == step) {
      parts_.violated("step " + open.order.step + " is compensated while it is called");
    }
    if (beside.answer_at && beside.order.call.deadline > now &&
        beside.order.epoch == open.order.epoch &&
        rules_[step_of(beside.order.step)].group > group) {
      parts_.violated("step " + open.order.step + " is compensated while " + beside.order.step +
                      " of a later group is called");
    }
  }
}

void Participants::plan(Open& open) {
  auto& random = parts_.random;
  const auto now = parts_.now();
  const auto take = [&](Duration most) {
    return now + std::chrono::floor<WallTime::duration>(up_to(most));
  };
  const auto left = open.order.call.deadline - now;
  // As every caller does: a call whose deadline has passed is not begun.
  if (left <= Duration{}) {
    open.answer_at = now;
    open.answer = {.kind = CallResult::Kind::unreachable, .error = "not begun in time"};
    return;
  }
  const bool action = open.order.call.key.direction == BarrierDirection::action;
  const auto& rule = rules_[step_of(open.order.step)];
  const auto dice = good_ ? 0 : random.below(100);
  const auto soon = take(milliseconds(60));
  open.answer_at = soon;
  if (entry(open.order.saga, step_of(open.order.step)).done > 0 && action && rule.idempotent &&
      !rule.waits) {
    return;  // done before: it says so
  }
  if (dice < 62) {
    open.effect_at = soon;
    if (action && rule.waits) {
      open.answer.kind = CallResult::Kind::wait;
      open.reply_at = soon + std::chrono::floor<WallTime::duration>(up_to(milliseconds(200)));
      if (!good_ && random.below(5) == 0) open.effect_at.reset(), open.reply_ok = false;
      if (!good_ && random.below(12) == 0) open.reply_at.reset();
    }
  } else if (dice < 72) {
    open.answer = {.kind = CallResult::Kind::retry, .error = "not now"};
  } else if (dice < (action ? 80 : 74)) {
    open.answer = {.kind = CallResult::Kind::fail, .error = "never"};
  } else if (dice < 86) {
    open.answer = {.kind = CallResult::Kind::unreachable, .error = "down"};
  } else if (dice < 90) {
    // It happens, the answer is lost on its way.
    open.effect_at = soon;
    open.answer = {.kind = CallResult::Kind::in_doubt, .error = "lost"};
  } else if (dice < 93) {
    open.answer = {.kind = CallResult::Kind::in_doubt, .error = "lost"};
  } else if (dice < 96) {
    // Late, also after its deadline.
    open.effect_at = take(3 * left);
    open.answer_at = *open.effect_at;
  } else {
    // Never: its caller gives up.
    open.answer_at = open.order.call.deadline + milliseconds(20);
    open.answer = {.kind = CallResult::Kind::in_doubt, .error = "no answer"};
    if (random.below(2) == 0) open.effect_at = take(2 * left);
  }
}

void Participants::take_effect(Open& open) {
  const auto step = step_of(open.order.step);
  auto& book = books_[{open.order.saga, step}];
  if (open.order.call.key.direction == BarrierDirection::compensation) {
    if (book.done == 0) book.compensated_first = true;
    if (book.done > 0 && !book.undone) {
      book.undone = true;
      ++compensations_;
    }
    return;
  }
  if (book.compensated_first || book.undone) {
    open.refused = true;
    return;
  }
  if (book.done > 0 && rules_[step].idempotent) return;
  ++book.done;
  ++effects_;
  if (book.done > 1) {
    parts_.violated("step " + open.order.step + " is not idempotent and was done twice");
  }
}

bool Participants::work() {
  const auto now = parts_.now();
  bool worked = false;
  std::vector<std::pair<saga::CallOrder, bool>> replies;
  std::vector<std::tuple<saga::CallResults*, saga::CallTicket, CallResult>> answers;
  for (auto& open : open_) {
    if (open.effect_at && *open.effect_at <= now) {
      open.effect_at.reset();
      take_effect(open);
      worked = true;
      if (open.refused) {
        open.reply_ok = false;
        const auto kind = open.answer.kind;
        if (kind == CallResult::Kind::ok) open.answer = {.kind = CallResult::Kind::fail};
      }
    }
    if (open.answer_at && *open.answer_at <= now) {
      open.answer_at.reset();
      worked = true;
      if (open.process != 0) {
        answers.emplace_back(open.results, open.order.ticket, std::move(open.answer));
      }
    }
    if (open.reply_at && *open.reply_at <= now) {
      open.reply_at.reset();
      worked = true;
      replies.emplace_back(open.order, open.reply_ok);
    }
  }
  std::erase_if(
      open_, [](const Open& open) { return !open.effect_at && !open.answer_at && !open.reply_at; });
  for (auto& [results, ticket, answer] : answers) results->ended(ticket, std::move(answer));
  for (const auto& [order, ok] : replies) parts_.reply(order, ok);
  return worked;
}

void Participants::process_gone(std::uint64_t process) {
  for (auto& open : open_) {
    if (open.process == process) open.process = 0;
  }
}

std::optional<WallTime> Participants::next() const {
  std::optional<WallTime> next;
  for (const auto& open : open_) {
    sooner(next, open.effect_at);
    sooner(next, open.answer_at);
    sooner(next, open.reply_at);
  }
  return next;
}

}  // namespace sagabox::simulation
