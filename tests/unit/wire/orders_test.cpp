#include "wire/orders.hpp"

#include "core/ulid.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

/// What the command line writes is what the REST API reads: nothing is lost on the way, and nothing
/// is left that the reader does not know.
namespace sagabox::wire {
namespace {

template <class... Parts>
std::string text_of(const Parts&... parts) {
  JsonOut json;
  return std::move(put(json, parts...)).take();
}

template <class Read>
auto read_back(const std::string& text, Read read) {
  auto fields = Fields::parse(text).value();
  auto order = read(fields);
  EXPECT_TRUE(fields.status().ok()) << text << ": " << fields.status().error().message;
  return order;
}

template <class Read>
std::string problem_of(const std::string& text, Read read) {
  auto fields = Fields::parse(text).value();
  (void)read(fields);
  return fields.status().ok() ? std::string() : fields.status().error().message;
}

TEST(WireOrders, MessageIsReadAsItWasWritten) {
  NewMessage draft{.topic = "orders.order.placed.v1",
                   .key = "17",
                   .payload = json(R"({"id": 17})"),
                   .aggregate_type = "Order",
                   .aggregate_id = "o-17",
                   .priority = Priority::high,
                   .headers = {{"a", "b"}},
                   .not_before = WallTime(std::chrono::seconds(2'000'000'000)),
                   .trace = {.request_id = "r-1", .correlation_id = "c-1"},
                   .id = "m-1"};
  testing::FakeClock clock;
  UlidSource ids(clock, system_random());
  const auto message = Message::build_shared(NewMessage(draft), {}, ids, clock).value();
  const auto order =
      read_back(text_of(*message, std::optional<std::string>("acme")),
                [](Fields& fields) { return read_message_order(fields, {.request_id = "other"}); });
  EXPECT_EQ(order.tenant, "acme");
  EXPECT_EQ(order.message.topic.str(), draft.topic.str());
  EXPECT_EQ(order.message.key, draft.key);
  EXPECT_EQ(order.message.id, draft.id);
  EXPECT_EQ(order.message.payload.json(), draft.payload.json());
  EXPECT_EQ(order.message.aggregate_type.str(), "Order");
  EXPECT_EQ(order.message.aggregate_id, "o-17");
  EXPECT_EQ(order.message.priority, Priority::high);
  EXPECT_EQ(order.message.headers, draft.headers);
  EXPECT_EQ(order.message.not_before, draft.not_before);
  EXPECT_EQ(order.message.occurred_at, message->occurred_at());
  EXPECT_EQ(order.message.trace.request_id, "r-1");
  EXPECT_EQ(order.message.trace.correlation_id, "c-1");
}

TEST(WireOrders, BytesAreReadAsTheyWereWritten) {
  testing::FakeClock clock;
  UlidSource ids(clock, system_random());
  const auto message =
      Message::build_shared(
          {.topic = "a.b.c.v1", .payload = bytes(std::string("\0\xff", 2)), .id = "m-2"}, {}, ids,
          clock)
          .value();
  const auto order = read_back(text_of(*message, std::optional<std::string>()),
                               [](Fields& fields) { return read_message_order(fields, {}); });
  EXPECT_EQ(order.message.payload.view(), std::string_view("\0\xff", 2));
  EXPECT_EQ(order.tenant, std::nullopt);
  EXPECT_EQ(order.message.priority, Priority::normal);
}

TEST(WireOrders, MoveIsReadAsItWasWritten) {
  const MoveOrder order{.ids = {MessageId::parse("a").value(), MessageId::parse("b").value()},
                        .sequences = {Sequence{7}, Sequence{18446744073709551615U}},
                        .tenant = "acme",
                        .as_new = true};
  const auto read = read_back(
      text_of(order), [](Fields& fields) { return read_move_order(fields, MoveTakes::as_new); });
  EXPECT_EQ(read.ids, order.ids);
  EXPECT_EQ(read.sequences, order.sequences);
  EXPECT_EQ(read.tenant, order.tenant);
  EXPECT_TRUE(read.as_new);
  const auto quarantine =
      read_back(text_of(MoveOrder{.ids = order.ids, .note = "why"}),
                [](Fields& fields) { return read_move_order(fields, MoveTakes::note); });
  EXPECT_EQ(quarantine.note, "why");
  EXPECT_TRUE(quarantine.sequences.empty());
}

TEST(WireOrders, MoveWithoutIdsOrWithWhatItDoesNotTakeIsRefused) {
  const auto plain = [](Fields& fields) { return read_move_order(fields, MoveTakes::nothing); };
  EXPECT_NE(problem_of(R"({"ids":[]})", plain).find("ids: none given"), std::string::npos);
  EXPECT_NE(problem_of(R"({"ids":["a"],"sequences":[]})", plain).find("sequences: is empty"),
            std::string::npos);
  EXPECT_NE(problem_of(R"({"ids":["a"],"sequences":[-1]})", plain).find("sequences[0]"),
            std::string::npos);
  EXPECT_NE(problem_of(R"({"ids":["a"],"as_new":true})", plain).find("as_new"), std::string::npos);
}

TEST(WireOrders, PauseIsReadAsItWasWritten) {
  const auto pause = [](Fields& fields) { return read_pause_order(fields, true); };
  const auto read = read_back(text_of(PauseOrder{.topic = "a.b.c.v1", .note = "n"}), pause);
  EXPECT_EQ(read.topic, "a.b.c.v1");
  EXPECT_EQ(read.note, "n");
  EXPECT_EQ(read_back(text_of(PauseOrder{}), pause).topic, std::nullopt);
}

TEST(WireOrders, PurgeNeverReachesWhatIsYounger) {
  const auto read = read_back(text_of(PurgeOrder{.state = MessageState::pending,
                                                 .older_than = std::chrono::milliseconds(1001),
                                                 .dry_run = true,
                                                 .force_pending = true}),
                              read_purge_order);
  EXPECT_EQ(read.state, MessageState::pending);
  EXPECT_EQ(read.older_than, std::chrono::seconds(2));
  EXPECT_TRUE(read.dry_run);
  EXPECT_TRUE(read.force_pending);
  EXPECT_NE(problem_of("{}", read_purge_order).find("older_than_seconds: missing"),
            std::string::npos);
}

TEST(WireOrders, ReplayIsReadAsItWasWritten) {
  ReplayOrder order{.from = MessageState::done,
                    .filter = {.topic = "a.b.c.v1", .first = Sequence{3}},
                    .rate_max = 50,
                    .as_new = true};
  const auto read = read_back(text_of(order), read_replay_order);
  EXPECT_EQ(read.from, MessageState::done);
  EXPECT_EQ(read.filter, order.filter);
  EXPECT_EQ(read.rate_max, 50U);
  EXPECT_TRUE(read.as_new);

  JsonOut json;
  put_preview(json.begin_object(), order);
  const auto preview = read_back(std::move(json.end_object()).take(), read_preview_order);
  EXPECT_EQ(preview.filter, order.filter);
  EXPECT_TRUE(preview.as_new);
}

TEST(WireOrders, ReplayOfEverythingMustBeSaid) {
  EXPECT_EQ(read_back(text_of(ReplayOrder{}), read_replay_order).filter, MessageFilter{});
  EXPECT_NE(problem_of(R"({"from":"dead","filter":{}})", read_replay_order).find("names no"),
            std::string::npos);
  EXPECT_NE(
      problem_of(R"({"all":true,"filter":{"topic":"a.b.c.v1"}})", read_replay_order).find("all"),
      std::string::npos);
}

TEST(WireOrders, IdempotencyPurgeIsReadAsItWasWritten) {
  const auto with_store = [](Fields& fields) {
    EXPECT_EQ(fields.text("store"), "main");
    return read_idempotency_purge_order(fields);
  };
  const auto one = read_back(
      text_of(std::string("main"),
              IdempotencyPurgeOrder{.tenant = "t", .consumer = "c", .key = "k", .note = "n"}),
      with_store);
  EXPECT_EQ(one.tenant, "t");
  EXPECT_EQ(one.consumer, "c");
  EXPECT_EQ(one.key, "k");
  EXPECT_EQ(one.note, "n");
  EXPECT_FALSE(one.expired);
  EXPECT_TRUE(
      read_back(text_of(std::string("main"), IdempotencyPurgeOrder{.expired = true}), with_store)
          .expired);
  EXPECT_NE(problem_of("{}", read_idempotency_purge_order).find("key: give a key"),
            std::string::npos);
}

}  // namespace
}  // namespace sagabox::wire
