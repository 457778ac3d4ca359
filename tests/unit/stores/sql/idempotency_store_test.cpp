#include "stores/sql/idempotency_store.hpp"

#include "core/stored_message.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sagabox::sql {
namespace {

using Cell = std::variant<std::monostate, std::int64_t, std::string, WallTime>;
using Cells = std::vector<Cell>;

constexpr WallTime noon{std::chrono::hours(12)};
constexpr std::string_view sections_text = R"sql(
-- name: idempotency_take
take;
-- name: idempotency_look
look;
-- name: idempotency_finish
finish;
-- name: idempotency_fail
fail;
-- name: idempotency_renew
renew;
-- name: idempotency_purge_expired
purge_expired;
-- name: idempotency_purge_key
purge_key;
-- name: idempotency_made
made;
-- name: idempotency_list
list;
-- name: idempotency_list_of_tenant
list_of_tenant;
-- name: idempotency_list_of_consumer
list_of_consumer;
-- name: idempotency_get
get;
-- name: audit_lock_head
lock_head;
-- name: audit_head
head;
-- name: audit_append
append;
-- name: audit_move_head
move_head;
-- name: audit_read
read;
)sql";

Sections some_sections() {
  const std::array files{File{"some.sql", sections_text}};
  return Sections::parse(files).value();
}

class ScriptedAnswer final : public Answer {
 public:
  explicit ScriptedAnswer(std::vector<Cells> rows) : rows_(std::move(rows)) {}

  [[nodiscard]] int size() const override { return static_cast<int>(rows_.size()); }
  [[nodiscard]] bool is_null(int row, int column) const override {
    return std::holds_alternative<std::monostate>(at(row, column));
  }
  [[nodiscard]] bool boolean(int row, int column) const override {
    return integer(row, column) != 0;
  }
  [[nodiscard]] std::int64_t integer(int row, int column) const override {
    return std::get<std::int64_t>(at(row, column));
  }
  [[nodiscard]] std::string_view text(int row, int column) const override {
    if (is_null(row, column)) return {};
    return std::get<std::string>(at(row, column));
  }
  [[nodiscard]] WallTime time(int row, int column) const override {
    return std::get<WallTime>(at(row, column));
  }

 private:
  [[nodiscard]] const Cell& at(int row, int column) const {
    return rows_.at(static_cast<std::size_t>(row)).at(static_cast<std::size_t>(column));
  }
  std::vector<Cells> rows_;
};

/// One round trip: its statements with the keys that they are about, "take k1".
using Trip = std::vector<std::string>;

/// A database that answers as it is told, and remembers what it was asked.
class ScriptedSessions final : public Sessions {
 public:
  using Answers = std::function<Result<std::vector<Cells>>(const std::string& asked)>;

  Result<std::unique_ptr<Session>> reader() override { return autocommit(); }
  Result<std::unique_ptr<Session>> autocommit() override {
    return std::unique_ptr<Session>(std::make_unique<Scripted>(*this));
  }
  Result<std::unique_ptr<OwnedSession>> begin() override {
    return Error{Code::unknown_internal, "no transactions here"};
  }

  Answers answers;
  std::vector<Trip> trips;

 private:
  class Scripted final : public Session {
   public:
    explicit Scripted(ScriptedSessions& sessions) : sessions_(sessions) {}
    using Session::run;
    Result<std::vector<Rows>> run(std::span<const Call> calls) override {
      auto& trip = sessions_.trips.emplace_back();
      std::vector<Rows> all;
      for (const auto& call : calls) {
        trip.push_back(call.statement->only().sql + " " +
                       std::get<std::string>(call.values.at(2).data()));
        auto rows = sessions_.answers(trip.back());
        if (!rows.ok()) return rows.error();
        all.emplace_back(std::make_unique<ScriptedAnswer>(*std::move(rows)));
      }
      return all;
    }
    Result<WallTime> now() override { return noon; }

   private:
    ScriptedSessions& sessions_;
  };
};

/// What a check costs, and what it makes of answers that a real database gives only when others
/// come between.
class SqlIdempotencyStore : public ::testing::Test {
 protected:
  static spi::IdempotencyCheck check_of(std::string key, std::string_view hashed = "request") {
    return {.key = {"acme", "billing", std::move(key)},
            .request_hash = sha256(hashed),
            .ticket = IdempotencyTicket{7},
            .lease = std::chrono::seconds(15),
            .ttl = std::chrono::hours(1)};
  }
  static std::vector<Cells> let_through() { return {{std::int64_t{1}, noon, noon}}; }
  static std::vector<Cells> nothing() { return {}; }
  /// A record of that key as a look shows it.
  static std::vector<Cells> record(const std::string& key, const std::string& state,
                                   WallTime lease_until = noon + std::chrono::seconds(15)) {
    return {{noon, std::string("acme"), std::string("billing"), key,
             std::string(bytes_of(sha256("request"))), state, std::int64_t{3}, std::int64_t{1},
             noon, noon, lease_until, noon + std::chrono::hours(1), std::monostate(),
             std::monostate(), std::monostate(), std::string()}};
  }
  /// What the database answers from now on, in turn; then nothing.
  void answers(std::vector<std::vector<Cells>> script) {
    sessions_.answers = [script = std::move(script), at = std::size_t{0}](
                            const std::string&) mutable -> Result<std::vector<Cells>> {
      return at < script.size() ? script[at++] : std::vector<Cells>();
    };
  }
  Result<std::vector<spi::IdempotencyCheckReply>> check(
      const std::vector<spi::IdempotencyCheck>& checks) {
    return store_.check(checks);
  }

  Sections sections_ = some_sections();
  ScriptedSessions sessions_;
  ScriptedSessions lease_sessions_;
  AuditChain audit_{sections_, "head"};
  IdempotencyStore store_{sections_,
                          {.sessions = sessions_,
                           .lease_sessions = lease_sessions_,
                           .audit = audit_,
                           .clock = nullptr,
                           .prepare = [] { return Status(); }}};
};

TEST_F(SqlIdempotencyStore, NewKeyIsOneRoundTrip) {
  answers({let_through()});
  const auto replies = check({check_of("k1")}).value();
  EXPECT_TRUE(replies.at(0).taken);
  EXPECT_EQ(replies.at(0).record.lease_until, noon + std::chrono::seconds(15));
  EXPECT_EQ(sessions_.trips, (std::vector<Trip>{{"take k1"}}));
}

TEST_F(SqlIdempotencyStore, RepeatedKeyIsTwoRoundTrips) {
  answers({nothing(), record("k1", "succeeded")});
  const auto replies = check({check_of("k1")}).value();
  EXPECT_FALSE(replies.at(0).taken);
  EXPECT_EQ(replies.at(0).record.state, IdempotencyState::succeeded);
  EXPECT_EQ(replies.at(0).record.ticket, IdempotencyTicket{3});
  EXPECT_EQ(sessions_.trips, (std::vector<Trip>{{"take k1"}, {"look k1"}}));
}

TEST_F(SqlIdempotencyStore, BatchIsOneRoundTripForNewKeysAndASecondForTheOthers) {
  sessions_.answers = [&](const std::string& asked) -> Result<std::vector<Cells>> {
    if (asked == "take k2" || asked == "take k4") return let_through();
    if (asked.starts_with("look ")) return record(asked.substr(5), "in_flight");
    return nothing();
  };
  const auto replies =
      check({check_of("k3"), check_of("k4"), check_of("k1"), check_of("k2")}).value();
  std::vector<std::string> keys;
  std::vector<bool> taken;
  for (const auto& reply : replies) {
    keys.push_back(reply.record.key.key);
    taken.push_back(reply.taken);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"k3", "k4", "k1", "k2"})) << "in the order of asking";
  EXPECT_EQ(taken, (std::vector{false, true, false, true}));
  EXPECT_EQ(sessions_.trips, (std::vector<Trip>{{"take k1", "take k2", "take k3", "take k4"},
                                                {"look k1", "look k3"}}))
      << "locked in the order of keys";
}

TEST_F(SqlIdempotencyStore, NothingAskedIsNoRoundTrip) {
  EXPECT_TRUE(check({}).value().empty());
  EXPECT_TRUE(store_.finish({}).value().empty());
  EXPECT_TRUE(sessions_.trips.empty());
}

// A conflict with a row that the look does not find: it was removed meanwhile, or is newer than
// the snapshot of the statement.
TEST_F(SqlIdempotencyStore, EmptyAnswerIsLookedUpAgain) {
  answers({nothing(), nothing(), nothing(), record("k1", "succeeded")});
  const auto replies = check({check_of("k1")}).value();
  EXPECT_FALSE(replies.at(0).taken);
  EXPECT_EQ(replies.at(0).record.state, IdempotencyState::succeeded);
  EXPECT_EQ(sessions_.trips,
            (std::vector<Trip>{{"take k1"}, {"look k1"}, {"take k1"}, {"look k1"}}));
}

// Between the two statements its holder released it, or the lease ran out.
TEST_F(SqlIdempotencyStore, RecordThatIsFreeByThenIsTakenAndNotAnswered) {
  for (const auto& free : {record("k1", "released"), record("k1", "in_flight", noon)}) {
    sessions_.trips.clear();
    answers({nothing(), free, let_through()});
    EXPECT_TRUE(check({check_of("k1")}).value().at(0).taken);
    EXPECT_EQ(sessions_.trips, (std::vector<Trip>{{"take k1"}, {"look k1"}, {"take k1"}}));
  }
}

TEST_F(SqlIdempotencyStore, LostLeaseOfAnotherRequestStandsInTheWay) {
  answers({nothing(), record("k1", "in_flight", noon)});
  EXPECT_FALSE(check({check_of("k1", "another")}).value().at(0).taken);
  EXPECT_EQ(sessions_.trips.size(), 2U);
}

TEST_F(SqlIdempotencyStore, OnlyWhatIsOpenIsAskedAgain) {
  answers({nothing(), nothing(), record("k1", "succeeded"), nothing(), let_through()});
  const auto replies = check({check_of("k1"), check_of("k2")}).value();
  EXPECT_FALSE(replies.at(0).taken);
  EXPECT_TRUE(replies.at(1).taken);
  EXPECT_EQ(sessions_.trips,
            (std::vector<Trip>{{"take k1", "take k2"}, {"look k1", "look k2"}, {"take k2"}}));
}

TEST_F(SqlIdempotencyStore, RecordThatChangesAtEveryLookIsAConflict) {
  answers({});
  const auto replies = check({check_of("k1")});
  ASSERT_FALSE(replies.ok());
  EXPECT_EQ(replies.error().code, Code::storage_conflict);
  EXPECT_TRUE(is_retry_safe(replies.error().code));
  EXPECT_NE(replies.error().message.find("billing"), std::string::npos);
  EXPECT_EQ(sessions_.trips.size(), 16U) << "eight times both";
}

TEST_F(SqlIdempotencyStore, ErrorEndsTheCheck) {
  sessions_.answers = [](const std::string&) -> Result<std::vector<Cells>> {
    return Error{Code::storage_in_doubt, "the answer was lost"};
  };
  EXPECT_EQ(check({check_of("k1")}).error().code, Code::storage_in_doubt);
  EXPECT_EQ(sessions_.trips.size(), 1U);
}

TEST_F(SqlIdempotencyStore, EndsOfManyAreOneRoundTripInTheOrderOfTheirKeys) {
  const auto known = [](const std::string& asked) -> Result<std::vector<Cells>> {
    if (asked.ends_with("k2")) return std::vector<Cells>();
    return std::vector<Cells>{{std::int64_t{1}}};
  };
  sessions_.answers = known;
  lease_sessions_.answers = known;
  std::vector<spi::IdempotencyFinish> finished;
  std::vector<spi::IdempotencyFail> failed;
  std::vector<spi::IdempotencyRenew> renewals;
  for (const auto* key : {"k3", "k2", "k1"}) {
    finished.push_back({.key = check_of(key).key, .ticket = IdempotencyTicket{7}});
    failed.push_back({.key = check_of(key).key, .ticket = IdempotencyTicket{7}});
    renewals.push_back({.key = check_of(key).key, .ticket = IdempotencyTicket{7}});
  }
  const std::vector held{true, false, true};
  EXPECT_EQ(store_.finish(finished).value(), held);
  EXPECT_EQ(store_.fail(failed).value(), held);
  EXPECT_EQ(sessions_.trips, (std::vector<Trip>{{"finish k1", "finish k2", "finish k3"},
                                                {"fail k1", "fail k2", "fail k3"}}));
  EXPECT_EQ(store_.renew(renewals).value(), held);
  EXPECT_EQ(lease_sessions_.trips, (std::vector<Trip>{{"renew k1", "renew k2", "renew k3"}}))
      << "renewals do not wait for the rest";
  EXPECT_EQ(sessions_.trips.size(), 2U);
}

}  // namespace
}  // namespace sagabox::sql
