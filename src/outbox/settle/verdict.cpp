#include "outbox/settle/verdict.hpp"

#include "core/error_text.hpp"
#include "core/refused_note.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace sagabox::outbox {
namespace {

spi::Settlement about(const Entry& entry, spi::Verdict verdict, std::uint32_t attempts) {
  return {.sequence = entry.sequence,
          .shard = entry.shard,
          .id = entry.message->id(),
          .verdict = verdict,
          .attempts = attempts,
          .lane = entry.was_waiting ? std::nullopt : std::optional(spi::lane_of(*entry.message))};
}

spi::Settlement dead(const spi::Row& row, Code code, std::string error) {
  return {.sequence = row.sequence,
          .shard = row.shard,
          .id = row.id,
          .verdict = spi::Verdict::dead,
          .attempts = row.attempts,
          .code = code,
          .error = std::move(error)};
}

constexpr std::size_t note_bytes_max = 500;

std::string ascii(std::string text) {
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  return text;
}

/// Says what happened to the message whose result is refused.
std::string happened(const spi::Settlement& refused) {
  const auto failure = " (" + std::string(code_name(refused.code)) + ")";
  switch (refused.verdict) {
    case spi::Verdict::done:
      return "it WAS delivered, but its result ";
    case spi::Verdict::retry:
      return "its attempt " + std::to_string(refused.attempts) + " failed" + failure +
             (refused.targets_done.value != 0 ? ", some targets have it, and its result "
                                              : ", and its result ");
    case spi::Verdict::dead:
      return "it failed for good" + failure + ", but its result ";
    case spi::Verdict::park:
      return "it failed" + failure + " and was to be quarantined, but its result ";
    case spi::Verdict::attempt:
      break;
  }
  return "it was not delivered: its next attempt ";
}

spi::Settlement failed(const Entry& entry, Outcome outcome, const Judgement& judgement,
                       Random& random) {
  const auto attempts = entry.attempts + (outcome.spends_attempt ? 1 : 0);
  const bool park = judgement.head_policy == HeadPolicy::park && entry.message->has_key() &&
                    outcome.spends_attempt;
  const bool last = outcome.spends_attempt && attempts >= judgement.retry.attempts_max;
  auto settlement = about(entry,
                          park   ? spi::Verdict::park
                          : last ? spi::Verdict::dead
                                 : spi::Verdict::retry,
                          attempts);
  settlement.code = outcome.code;
  settlement.error = std::move(outcome.error);
  if (settlement.verdict == spi::Verdict::retry) {
    settlement.delay = outcome.delay ? *outcome.delay
                                     : judgement.retry.delay(attempts == 0 ? 1 : attempts, random);
  }
  return settlement;
}

}  // namespace

spi::Settlement judge(const Entry& entry, Outcome outcome, bool timed_out,
                      const Judgement& judgement, Random& random) {
  switch (outcome.kind) {
    case Outcome::Kind::done:
      return about(entry, spi::Verdict::done, entry.attempts + 1);
    case Outcome::Kind::reject: {
      auto settlement = about(entry, spi::Verdict::dead, entry.attempts + 1);
      settlement.code = outcome.code;
      settlement.error = std::move(outcome.error);
      return settlement;
    }
    case Outcome::Kind::retry:
      break;
  }
  if (timed_out) {
    outcome.code = Code::tx_timeout;
    outcome.spends_attempt = true;
  }
  return failed(entry, std::move(outcome), judgement, random);
}

spi::Settlement exhausted(const spi::Row& row, std::uint32_t attempts_max) {
  auto settlement = dead(row, Code::tx_deadletter,
                         "attempts spent (" + std::to_string(row.attempts) + " of " +
                             std::to_string(attempts_max) +
                             ") without a final result: the last one was cut short (its process "
                             "died or lost the shard), or the limit was lowered since");
  settlement.keep_last_error = true;
  return settlement;
}

spi::Settlement undecodable(const spi::Row& row) {
  return dead(row, Code::schema_validation_failed,
              "the row cannot be decoded: " + row.decode_error);
}

spi::Settlement spent_attempt(const Entry& entry, Code code, std::string error) {
  auto settlement = about(entry, spi::Verdict::attempt, entry.attempts + 1);
  settlement.code = code;
  settlement.error = std::move(error);
  return settlement;
}

spi::Settlement parked_instead(const spi::Settlement& refused, const Error& why) {
  return {.sequence = refused.sequence,
          .shard = refused.shard,
          .id = refused.id,
          .verdict = spi::Verdict::park,
          .attempts = refused.attempts,
          .code = why.code,
          .note = ascii(clean_error(
              happened(refused) + std::string(result_refused_mark) + why.text(), note_bytes_max)),
          .lane = refused.lane};
}

spi::Settlement unspent_attempt(const Entry& entry) {
  return about(entry, spi::Verdict::attempt, entry.attempts);
}

}  // namespace sagabox::outbox
