#include "integration/postgres/world.hpp"

namespace sagabox::integration {
namespace {

/// docs/stores/postgres-contract.md, from plain SQL.
class PostgresContract : public PostgresWorld {};

TEST_F(PostgresContract, EveryColumnOfTheContractIsDelivered) {
  std::mutex mutex;
  std::vector<Message> came;
  auto outbox = started(*store, [&](const Delivery& d) {
    const std::lock_guard lock(mutex);
    came.push_back(d.message());
    return done();
  });
  database->sql("INSERT INTO " + outbox_table() +
                " (id, topic, payload, tenant, aggregate_type, key, priority, is_json, "
                "content_type, headers, "
                "occurred_at, traceparent, tracestate, request_id, correlation_id) VALUES ('mine', "
                "'orders.order.placed.v1', '\\x00ff', 'acme', '__GLOBAL__', 'k', 2, false, "
                "'application/octet-stream', '{\"a\":\"b\"}', to_timestamp(1700000000), "
                "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'k=v', 'r', 'c') ON "
                "CONFLICT "
                "DO NOTHING");
  database->sql("INSERT INTO " + outbox_table() +
                " (id, topic, payload, not_before, due) SELECT 'soon', 'orders.order.placed.v1', "
                "'{}', at, at FROM (SELECT now() + interval '50 ms' AS at) AS soon");
  ASSERT_TRUE(settles_to(2));
  const std::lock_guard lock(mutex);
  ASSERT_EQ(came.size(), 2U);
  const auto& message = came[0].id().view() == "mine" ? came[0] : came[1];
  EXPECT_EQ(message.payload().view(), std::string_view("\0\xff", 2));
  EXPECT_EQ(message.payload().form(), PayloadForm::bytes);
  EXPECT_EQ(message.tenant(), "acme");
  EXPECT_EQ(message.key(), "k");
  EXPECT_EQ(message.priority(), Priority::low);
  EXPECT_EQ(message.headers(), (Headers{{"a", "b"}}));
  EXPECT_EQ(message.occurred_at(), WallTime{seconds(1'700'000'000)});
  EXPECT_EQ(message.trace().correlation_id, "c");
}

}  // namespace
}  // namespace sagabox::integration
