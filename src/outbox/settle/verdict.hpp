#pragma once

#include "outbox/entry.hpp"

#include <sagabox/delivery.hpp>
#include <sagabox/outbox.hpp>
#include <sagabox/spi/outbox_store.hpp>

namespace sagabox::outbox {

/// The rules that decide the settlement of a table's attempts.
struct Judgement {
  RetryPolicy retry;
  HeadPolicy head_policy = HeadPolicy::block;
};

/// Returns the settlement for an outcome: done, retry after a delay, parked, or dead. Pure except
/// for the jitter. `timed_out`: the attempt was past its deadline; a late done still counts.
spi::Settlement judge(const Entry& entry, Outcome outcome, bool timed_out,
                      const Judgement& judgement, Random& random);

/// For a row that is read with no attempts left: the last attempt was interrupted, or the limit was
/// lowered since. If the row has an error, that is kept.
spi::Settlement exhausted(const spi::Row& row, std::uint32_t attempts_max);

/// For a row that cannot be decoded.
spi::Settlement undecodable(const spi::Row& row);

/// Records the attempt that is about to be made, or that has just exceeded its deadline.
spi::Settlement spent_attempt(const Entry& entry, Code code, std::string error);

/// Replaces a result that the store refuses: a park with a note that says what happened to the
/// message and why its result could not be stored. The note is ASCII, so that the store does not
/// refuse it because of its text.
spi::Settlement parked_instead(const spi::Settlement& refused, const Error& why);
/// Whether the settlement was made by `parked_instead`.
inline bool is_parked_instead(const spi::Settlement& settlement) noexcept {
  return settlement.verdict == spi::Verdict::park && !settlement.note.empty();
}

/// Takes back an attempt that was stored before its dispatch and is not made.
spi::Settlement unspent_attempt(const Entry& entry);

}  // namespace sagabox::outbox
