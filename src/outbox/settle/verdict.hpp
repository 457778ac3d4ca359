#pragma once

#include "outbox/entry.hpp"

#include <sagabox/delivery.hpp>
#include <sagabox/outbox.hpp>
#include <sagabox/spi/outbox_store.hpp>

namespace sagabox::outbox {

/// The rules a table's attempts are judged by.
struct Judgement {
  RetryPolicy retry;
  HeadPolicy head_policy = HeadPolicy::block;
};

/// What an outcome means for its row: done, retry after a while, parked, or dead. Pure but for the
/// jitter. `timed_out`: the attempt was past its deadline; a late done still counts.
spi::Settlement judge(const Entry& entry, Outcome outcome, bool timed_out,
                      const Judgement& judgement, Random& random);

/// A row whose attempts are all spent before it could be tried: the last one was cut short, or
/// the limit was lowered since. Where the row has an error, that is kept.
spi::Settlement exhausted(const spi::Row& row, std::uint32_t attempts_max);

/// A row that cannot be read back into a message.
spi::Settlement undecodable(const spi::Row& row);

/// The attempt that is about to be made, or that has just run past its deadline.
spi::Settlement spent_attempt(const Entry& entry, Code code, std::string error);

/// In place of a result that the store refuses: a park with a note that says what happened to the
/// message and why its result could not be stored. All of it is ASCII: the store must not refuse
/// this one for its text.
spi::Settlement parked_instead(const spi::Settlement& refused, const Error& why);
/// A settlement of that kind.
inline bool is_parked_instead(const spi::Settlement& settlement) noexcept {
  return settlement.verdict == spi::Verdict::park && !settlement.note.empty();
}

/// The attempt that was written before its dispatch and is not made.
spi::Settlement unspent_attempt(const Entry& entry);

}  // namespace sagabox::outbox
