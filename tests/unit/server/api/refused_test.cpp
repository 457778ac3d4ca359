#include "support/forwarding.hpp"
#include "unit/server/world.hpp"

#include <thread>

namespace sagabox::server {
namespace {

/// Stores no result of messages whose id begins with "bad", and no quarantine of them.
class RefusingOutbox final : public testing::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override {
    for (const auto& item : request.items) {
      if (!item.id.view().starts_with("bad")) continue;
      return Error{Code::schema_validation_failed, "value refused constraint no_bad"};
    }
    return ForwardingStore::settle(request);
  }
};

class RefusingStore final : public Store {
 public:
  explicit RefusingStore(Store& to) : to_(to) {}
  spi::OutboxStore& outbox() override { return outbox_; }
  spi::OutboxAdminStore& outbox_admin() override { return to_.outbox_admin(); }
  spi::ControlStore& control() override { return to_.control(); }
  spi::OwnershipStore& ownership() override { return to_.ownership(); }
  spi::AuditStore& audit() override { return to_.audit(); }
  Result<std::unique_ptr<OwnedTransaction>> begin() override { return to_.begin(); }
  [[nodiscard]] std::string name() const override { return to_.name(); }

 private:
  Store& to_;
  RefusingOutbox outbox_{to_.outbox()};
};

using RestRefused = ApiTest;

TEST_F(RestRefused, TableTellsWhichResultsTheStoreRefusesHere) {
  memory::MemoryStore kept;
  RefusingStore store(kept);
  auto outbox = Outbox::several_processes(store, {.table = "orders"}).value();
  outbox.listen("t", [](const Delivery&) { return done(); }).value();
  tables_[0].store = &store;
  tables_[0].outbox = always(outbox);
  api_ = make_api(nullptr);
  const auto here = [&] { return body(get("/v1/tables/orders")).at("here").as_object(); };
  EXPECT_EQ(here().at("refused").to_number<std::uint64_t>(), 0U);
  EXPECT_TRUE(here().at("refused_messages").as_array().empty());

  outbox.start().value();
  for (const auto* id : {"bad-1", "good"}) {
    const auto answer = post("/v1/tables/orders/messages",
                             R"({"topic":"t","payload":1,"id":")" + std::string(id) + "\"}");
    ASSERT_EQ(answer.status, 201U) << answer.body;
  }
  const auto give_up = std::chrono::steady_clock::now() + 30s;
  while (outbox.snapshot().refused == 0 && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::yield();
  }

  EXPECT_EQ(here().at("refused").to_number<std::uint64_t>(), 1U);
  const auto refused = here().at("refused_messages").as_array();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(text(refused[0].as_object(), "id"), "bad-1");
  EXPECT_TRUE(refused[0].as_object().at("delivered").as_bool());
  EXPECT_EQ(text(refused[0].as_object(), "code"), "SCHEMA.VALIDATION_FAILED");
  EXPECT_NE(text(refused[0].as_object(), "error").find("no_bad"), std::string::npos);
  outbox.stop().value();
}

}  // namespace
}  // namespace sagabox::server
