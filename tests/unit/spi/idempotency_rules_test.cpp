#include "spi/idempotency_rules.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <string>

namespace sagabox::spi {
namespace {

using State = IdempotencyState;
using std::chrono::seconds;

constexpr WallTime start{seconds(1'000'000)};

IdempotencyCheck check_by(std::uint64_t ticket, std::string_view payload = "payload") {
  return {.key = {"acme", "billing", "k1"},
          .request_hash = sha256(payload),
          .ticket = IdempotencyTicket{ticket},
          .lease = seconds(10),
          .ttl = seconds(100)};
}

IdempotencyFinish finish_by(std::uint64_t ticket) {
  return {{"acme", "billing", "k1"}, IdempotencyTicket{ticket}, "done", sha256("done")};
}

IdempotencyFail fail_by(std::uint64_t ticket, bool final) {
  return {{"acme", "billing", "k1"}, IdempotencyTicket{ticket}, final, Code::tx_timeout, "late"};
}

IdempotencyRenew renew_by(std::uint64_t ticket) {
  return {{"acme", "billing", "k1"}, IdempotencyTicket{ticket}, seconds(10)};
}

/// What holder 1 left at `start`.
IdempotencyRecord left_in(State state) {
  auto record = after_check(nullptr, check_by(1), start).record;
  if (state == State::succeeded) (void)apply(finish_by(1), record, start);
  if (state == State::failed) (void)apply(fail_by(1, true), record, start);
  if (state == State::released) (void)apply(fail_by(1, false), record, start);
  EXPECT_EQ(record.state, state);
  return record;
}

TEST(IdempotencyRules, WhoIsLetThroughByStateTimeAndHash) {
  struct Row {
    State state;
    int at;  ///< seconds after the start; the lease ends after 10, the record after 100
    bool same_hash;
    bool taken;
  };
  constexpr std::array rows{
      Row{State::in_flight, 9, true, false},   Row{State::in_flight, 10, true, true},
      Row{State::in_flight, 10, false, false}, Row{State::in_flight, 100, false, true},
      Row{State::succeeded, 99, true, false},  Row{State::succeeded, 99, false, false},
      Row{State::succeeded, 100, true, true},  Row{State::succeeded, 100, false, true},
      Row{State::failed, 99, true, false},     Row{State::failed, 99, false, false},
      Row{State::failed, 100, false, true},    Row{State::released, 0, true, true},
      Row{State::released, 0, false, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(idempotency_state_name(row.state)) + " after " +
                 std::to_string(row.at) + " s, same hash " + std::to_string(row.same_hash));
    const auto known = left_in(row.state);
    const auto now = start + seconds(row.at);
    const auto check = check_by(2, row.same_hash ? "payload" : "other");
    const auto reply = after_check(&known, check, now);
    EXPECT_EQ(reply.taken, row.taken);
    EXPECT_EQ(is_free(known, check.request_hash, now), row.taken);
    if (!row.taken) {
      EXPECT_EQ(reply.record, known);
      continue;
    }
    EXPECT_EQ(reply.record.state, State::in_flight);
    EXPECT_EQ(reply.record.ticket, check.ticket);
    EXPECT_EQ(reply.record.request_hash, check.request_hash);
    EXPECT_EQ(reply.record.result, std::nullopt);
    EXPECT_EQ(reply.record.error, "");
    EXPECT_EQ(reply.record.attempts, row.at >= 100 ? 1U : 2U);
    EXPECT_EQ(reply.record.created_at, row.at >= 100 ? now : start);
    EXPECT_EQ(reply.record.lease_until, now + seconds(10));
    EXPECT_EQ(reply.record.expires_at, now + seconds(100));
  }
}

TEST(IdempotencyRules, LeaseKeepsARecordFromExpiring) {
  auto record = left_in(State::in_flight);
  EXPECT_TRUE(apply(renew_by(1), record, start + seconds(95)));
  EXPECT_FALSE(is_expired(record, start + seconds(104)));
  EXPECT_TRUE(is_expired(record, start + seconds(105)));
  EXPECT_TRUE(is_expired(left_in(State::succeeded), start + seconds(100)));
}

TEST(IdempotencyRules, OnlyTheLastHolderChangesARecord) {
  auto record = left_in(State::in_flight);
  record = after_check(&record, check_by(2), start + seconds(10)).record;
  const auto before = record;
  EXPECT_FALSE(apply(finish_by(1), record, start + seconds(11)));
  EXPECT_FALSE(apply(fail_by(1, true), record, start + seconds(11)));
  EXPECT_FALSE(apply(fail_by(1, false), record, start + seconds(11)));
  EXPECT_FALSE(apply(renew_by(1), record, start + seconds(11)));
  EXPECT_EQ(record, before);
  EXPECT_TRUE(apply(finish_by(2), record, start + seconds(11)));
}

TEST(IdempotencyRules, WhatHasEndedEndsOnlyTheSameWayAgain) {
  for (const auto state : {State::succeeded, State::failed, State::released}) {
    SCOPED_TRACE(idempotency_state_name(state));
    const auto ended = left_in(state);
    auto record = ended;
    EXPECT_EQ(apply(finish_by(1), record, start), state == State::succeeded);
    EXPECT_EQ(apply(fail_by(1, true), record, start), state == State::failed);
    EXPECT_EQ(apply(fail_by(1, false), record, start), state == State::released);
    EXPECT_FALSE(apply(renew_by(1), record, start));
    EXPECT_EQ(record, ended);
  }
}

// Whatever holders do in whatever order: nobody is let through while another has a lease or while a
// result counts, and only the holder changes a record.
TEST(IdempotencyRules, NoOrderOfEventsRunsAFinishedRequestAgain) {
  const auto random = seeded_random(24);
  for (int run = 0; run < 2000; ++run) {
    std::optional<IdempotencyRecord> record;
    std::map<std::uint64_t, WallTime> leases;  // of holders that believe to hold the key
    std::uint64_t tickets = 0;
    auto now = start;
    for (int step = 0; step < 30; ++step) {
      now += seconds(random->below(8));
      const auto before = record;
      const auto ticket = 1 + random->below(tickets + 1);
      switch (random->below(5)) {
        case 0:
        case 1: {
          const auto check = check_by(++tickets, random->below(4) == 0 ? "other" : "payload");
          const auto reply = after_check(record ? &*record : nullptr, check, now);
          record = reply.record;
          if (reply.taken) {
            const bool counted = before && !is_expired(*before, now);
            EXPECT_FALSE(counted && before->state == State::succeeded);
            EXPECT_FALSE(counted && before->state == State::failed);
            for (const auto& [holder, until] : leases) EXPECT_LE(until, now) << holder;
            leases[check.ticket.value] = record->lease_until;
          } else {
            EXPECT_EQ(record, before);
          }
          break;
        }
        default: {
          if (!record) break;
          const auto what = random->below(4);
          const bool held = what == 0   ? apply(finish_by(ticket), *record, now)
                            : what == 1 ? apply(fail_by(ticket, true), *record, now)
                            : what == 2 ? apply(fail_by(ticket, false), *record, now)
                                        : apply(renew_by(ticket), *record, now);
          EXPECT_EQ(record->ticket, before->ticket);
          if (!held) {
            EXPECT_EQ(record, before);
          } else if (record->state == State::in_flight) {
            leases[ticket] = record->lease_until;
          } else {
            EXPECT_EQ(before->ticket.value, ticket);
            leases.erase(ticket);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace sagabox::spi
