#include "conformance/schema/schema_conformance.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <thread>

namespace sagabox::conformance {
namespace {

bool is_applied(const spi::SchemaStep& step) { return step.applied_at.has_value(); }

std::vector<spi::Finding> findings_of_steps(Store& store) {
  auto found = store.doctor()->findings().value();
  std::erase_if(found, [](const spi::Finding& finding) {
    return finding.what.find("of the schema") == std::string::npos;
  });
  return found;
}

}  // namespace

void SchemaConformance::SetUp() {
  if (const auto missing = GetParam().missing(); !missing.empty()) GTEST_SKIP() << missing;
  fixture_ = GetParam().make();
  schema_ = fixture_->schema();
}

void SchemaConformance::write() {
  testing::FakeClock clock;
  const auto random = seeded_random(3);
  UlidSource ids(clock, *random);
  const auto message = std::make_shared<const Message>(
      Message::build({.topic = "orders.order.placed.v1", .payload = json("{}")}, MessageRules{},
                     ids, clock)
          .value());
  fixture_->store()
      ->transaction(
          [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, std::span(&message, 1)); })
      .value();
}

std::uint64_t SchemaConformance::pending() {
  return fixture_->store()->outbox_admin().stats(table_).value().pending;
}

TEST_P(SchemaConformance, RolesSayWhetherTheirTablesAreThere) {
  const auto store = fixture_->store();
  EXPECT_FALSE(store->inbox()->is_made().value());
  EXPECT_FALSE(store->idempotency()->is_made().value());
  store->inbox()->prepare().value();
  EXPECT_TRUE(store->inbox()->is_made().value());
  EXPECT_FALSE(store->idempotency()->is_made().value());
  store->idempotency()->prepare().value();
  EXPECT_TRUE(store->idempotency()->is_made().value());
}

TEST_P(SchemaConformance, NothingIsAppliedBeforeUpAndLookingMakesNothing) {
  std::set<std::string> engines;
  for (const auto& step : status()) {
    EXPECT_FALSE(is_applied(step));
    EXPECT_EQ(step.outbox, "");
    engines.insert(step.engine);
  }
  EXPECT_EQ(engines, std::set<std::string>(spi::schema_engines.begin(), spi::schema_engines.end()));
}

TEST_P(SchemaConformance, EngineIsMadeAndRemovedWithoutTheOthers) {
  for (const auto engine :
       {spi::inbox_engine, spi::idempotency_engine, spi::saga_engine, spi::hub_engine}) {
    const std::string name(engine);
    schema_->up({.engine = name}).value();
    schema_->up({.engine = name}).value();
    const auto made = status();
    ASSERT_FALSE(made.empty());
    for (const auto& step : made) {
      EXPECT_EQ(step.engine, name);
      EXPECT_TRUE(is_applied(step));
      EXPECT_FALSE(step.checksum_differs);
    }
    EXPECT_EQ(schema_->up({.engine = name, .outbox = table_}).error().code, Code::config_invalid);
    schema_->down({.engine = name, .to = 0}).value();
    EXPECT_TRUE(std::ranges::none_of(status(), is_applied));
  }
  schema_->up({.engine = std::string(spi::inbox_engine)}).value();
  make();
  schema_->down({.to = 0}).value();
  for (const auto& step : status()) EXPECT_EQ(step.engine, spi::inbox_engine);
}

TEST_P(SchemaConformance, RolesMakeTheirOwnTablesOnly) {
  const auto store = fixture_->store();
  store->inbox()->prepare().value();
  for (const auto& step : status()) EXPECT_EQ(step.engine, spi::inbox_engine);
  store->idempotency()->prepare().value();
  store->idempotency()->prepare().value();
  const IdempotencyKey key{"acme", "billing", "k1"};
  const auto first_time = [&] {
    return store->transaction([&](OwnedTransaction& tx) { return tx.inbox().first_time(key); })
        .value();
  };
  EXPECT_TRUE(first_time());
  EXPECT_FALSE(first_time());
  EXPECT_FALSE(store->idempotency()->get(key).value());
}

TEST_P(SchemaConformance, UpMakesEveryStepOfWhatIsSharedAndOfTheOutbox) {
  const auto known = std::ranges::count(status(), spi::outbox_engine, &spi::SchemaStep::engine);
  make();
  const auto steps = status();
  EXPECT_EQ(std::ssize(steps), 2 * known);
  EXPECT_TRUE(std::ranges::all_of(steps, is_applied));
  for (std::size_t at = 0; at < steps.size(); ++at) {
    EXPECT_EQ(steps[at].number, static_cast<int>(at / 2 + 1));
    EXPECT_EQ(steps[at].outbox, at % 2 == 0 ? "" : "orders");
    EXPECT_FALSE(steps[at].checksum_differs);
  }
  write();
  EXPECT_EQ(pending(), 1U);
}

TEST_P(SchemaConformance, UpTwiceChangesNothing) {
  make();
  write();
  const auto before = status();
  make();
  schema_->up({}).value();
  const auto after = status();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t at = 0; at < after.size(); ++at) {
    EXPECT_EQ(after[at].applied_at, before[at].applied_at);
  }
  EXPECT_EQ(pending(), 1U);
}

TEST_P(SchemaConformance, SeveralAtOnceAllSucceed) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto made = fixture_->schema()->up({.outbox = table_});
      EXPECT_TRUE(made.ok()) << made.error().text();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(std::ranges::all_of(status(), is_applied));
}

TEST_P(SchemaConformance, DownWithoutAStepThatStaysIsRefused) {
  make();
  for (const auto& request : {spi::SchemaDown{}, spi::SchemaDown{.to = -1, .force = true}}) {
    EXPECT_EQ(schema_->down(request).error().code, Code::config_invalid);
  }
  EXPECT_TRUE(std::ranges::all_of(status(), is_applied));
}

TEST_P(SchemaConformance, DownRefusesToLoseUndeliveredMessagesUnlessForced) {
  make();
  write();
  const auto refused = schema_->down({.to = 0});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::tx_invalid_state);
  EXPECT_NE(refused.error().message.find("orders"), std::string::npos);
  EXPECT_TRUE(std::ranges::all_of(status(), is_applied));
  EXPECT_EQ(pending(), 1U);
  schema_->down({.to = 0, .force = true}).value();
  EXPECT_TRUE(std::ranges::none_of(status(), is_applied));
}

TEST_P(SchemaConformance, DownToAStepKeepsItAndTheMessages) {
  make();
  write();
  schema_->down({.to = 1}).value();
  for (const auto& step : status()) EXPECT_EQ(is_applied(step), step.number == 1);
  schema_->up({}).value();
  EXPECT_TRUE(std::ranges::all_of(status(), is_applied));
  EXPECT_EQ(pending(), 1U);
}

TEST_P(SchemaConformance, DownTwiceAndUpAgain) {
  make();
  schema_->down({.to = 0}).value();
  schema_->down({.to = 0}).value();
  make();
  EXPECT_TRUE(std::ranges::all_of(status(), is_applied));
}

TEST_P(SchemaConformance, DownRefusesStepsOfANewerVersion) {
  make();
  fixture_->record_step(999);
  const auto refused = schema_->down({.to = 0});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::tx_invalid_state);
  EXPECT_NE(refused.error().message.find("newer version"), std::string::npos);
  EXPECT_TRUE(std::ranges::all_of(status(), is_applied));
}

TEST_P(SchemaConformance, EngineThatIsNotKnownIsToldWithThoseThatAre) {
  for (const auto& refused :
       {schema_->up({.engine = "sagas"}), schema_->down({.engine = "sagas", .to = 0})}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::config_invalid);
    EXPECT_NE(refused.error().message.find("\"sagas\"; this version has outbox"), std::string::npos)
        << refused.error().message;
  }
}

TEST_P(SchemaConformance, StepOfOtherSqlIsToldByStatusAndDoctor) {
  make();
  const auto store = fixture_->store();
  EXPECT_TRUE(findings_of_steps(*store).empty());
  auto step = status().back();
  fixture_->record_checksum(step, "0123");
  step = status().back();
  EXPECT_TRUE(step.checksum_differs);
  const auto found = findings_of_steps(*store);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::warning);
  EXPECT_NE(found[0].what.find("step " + std::to_string(step.number) + " of the schema (" +
                               step.name + ", outbox orders) was applied by other SQL"),
            std::string::npos)
      << found[0].what;
  EXPECT_NE(found[0].cure, "");
}

TEST_P(SchemaConformance, RecordOfAnOlderVersionHasNoChecksumsAndIsNotBlamed) {
  make();
  write();
  fixture_->forget_checksums();
  const auto store = fixture_->store();
  EXPECT_TRUE(store->outbox().prepare(table_).ok());
  EXPECT_TRUE(findings_of_steps(*store).empty());
  EXPECT_TRUE(std::ranges::all_of(status(), is_applied));
  schema_->up({.outbox = TableName::parse("billing").value()}).value();
  for (const auto& step : status()) {
    EXPECT_TRUE(is_applied(step));
    EXPECT_FALSE(step.checksum_differs);
  }
  EXPECT_EQ(pending(), 1U);
  auto billing = status().back();
  ASSERT_TRUE(billing.outbox == "billing" || billing.outbox == "orders");
  billing.outbox = "billing";
  fixture_->record_checksum(billing, "0123");
  EXPECT_EQ(findings_of_steps(*store).size(), 1U) << "what is applied now has a checksum";
}

TEST_P(SchemaConformance, ReshardChangesTheCountOrSaysWhyNot) {
  make();
  write();
  const spi::ReshardRequest request{.outbox = table_, .shards = 4};
  if (!GetParam().reshards) {
    EXPECT_EQ(schema_->reshard(request).error().code, Code::config_invalid);
    return;
  }
  auto look = request;
  look.dry_run = true;
  EXPECT_FALSE(schema_->reshard(look).value().changed);
  const auto report = schema_->reshard(request).value();
  EXPECT_TRUE(report.changed);
  EXPECT_EQ(report.shards_before, 16U);
  EXPECT_EQ(report.shards, 4U);
  EXPECT_EQ(report.pending, 1U);
  EXPECT_FALSE(schema_->reshard(request).value().changed);
  EXPECT_EQ(status().back().shards, 4U);
  const auto nowhere = TableName::parse("nowhere").value();
  EXPECT_EQ(schema_->reshard({.outbox = nowhere, .shards = 4}).error().code, Code::config_invalid);
}

}  // namespace sagabox::conformance
