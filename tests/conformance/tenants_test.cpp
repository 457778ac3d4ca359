#include "conformance/store_conformance.hpp"
#include "core/key_hash.hpp"

#include <algorithm>

namespace sagabox::conformance {
namespace {

using Ids = std::vector<std::string>;

std::vector<std::string> tenants_of(const std::vector<spi::Row>& rows) {
  std::vector<std::string> tenants;
  for (const auto& row : rows) tenants.push_back(row.message->tenant());
  std::ranges::sort(tenants);
  return tenants;
}

TEST_P(StoreConformance, SameIdOfTwoTenantsIsTwoMessages) {
  const auto a = build({.tenant = "acme", .id = "o-7"});
  const auto b = build({.tenant = "other", .id = "o-7"});

  const auto first = write(a);
  const auto second = write(b);

  EXPECT_FALSE(first.duplicate);
  EXPECT_FALSE(second.duplicate);
  EXPECT_NE(first.sequence, second.sequence);
  EXPECT_EQ(tenants_of(read_fresh()), (Ids{"acme", "other"}));
  EXPECT_EQ(stats().pending, 2U);
  const auto third = write(build({.tenant = "third", .id = "o-7"}));
  const auto both = write({build({.tenant = "fourth", .id = "o-7"}), b});
  EXPECT_FALSE(third.duplicate);
  EXPECT_FALSE(both.at(0).duplicate);
  EXPECT_TRUE(both.at(1).duplicate);
  EXPECT_EQ(both.at(1).sequence, second.sequence);
}

TEST_P(StoreConformance, OneBatchHasAnIdOnceForEachTenant) {
  const auto written =
      write({build({.tenant = "acme", .id = "o-7"}), build({.tenant = "other", .id = "o-7"}),
             build({.tenant = "acme", .id = "o-7"})});
  EXPECT_FALSE(written.at(0).duplicate);
  EXPECT_FALSE(written.at(1).duplicate);
  EXPECT_TRUE(written.at(2).duplicate);
  EXPECT_EQ(written.at(2).sequence, written.at(0).sequence);
}

TEST_P(StoreConformance, EndedIdOfAnotherTenantIsNoDuplicate) {
  const auto owner = own();
  for (const auto verdict : {spi::Verdict::done, spi::Verdict::dead, spi::Verdict::park}) {
    const std::string id = "o-" + std::to_string(static_cast<int>(verdict));
    const auto theirs = write(build({.tenant = "acme", .id = id}));
    end(owner, theirs, verdict);

    EXPECT_FALSE(write(build({.tenant = "other", .id = id})).duplicate);
    const auto again = write(build({.tenant = "acme", .id = id}));
    EXPECT_TRUE(again.duplicate);
    EXPECT_EQ(again.sequence, theirs.sequence);
  }
}

TEST_P(StoreConformance, RowsOfOneIdAreSettledApart) {
  const auto owner = own();
  const auto a = write(build({.tenant = "acme", .id = "o-7"}));
  const auto b = write(build({.tenant = "other", .id = "o-7"}));

  end(owner, a, spi::Verdict::dead);
  end(owner, b, spi::Verdict::dead);

  EXPECT_EQ(stats().dead, 2U);
  EXPECT_EQ(list(MessageState::dead, {.tenant = "acme"}).at(0).sequence, a.sequence);
  EXPECT_EQ(list(MessageState::dead, {.tenant = "other"}).at(0).sequence, b.sequence);
}

TEST_P(StoreConformance, SameKeyOfTwoTenantsIsTwoKeys) {
  const auto owner = own();
  const auto a = write(build({.key = "customer-7", .tenant = "acme"}));
  const auto b = write(build({.key = "customer-7", .tenant = "other"}));
  auto failed = settlement(a, spi::Verdict::retry);
  failed.delay = std::chrono::minutes(1);
  failed.error = "refused";
  EXPECT_EQ(settled(owner, {failed}), 1U);

  const auto keys = outbox().read_retrying_keys(table_, a.shard, {}, 10).value().keys;
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].key_hash, key_hash("acme", "customer-7"));
  EXPECT_NE(keys[0].key_hash, key_hash("other", "customer-7"));
  const auto left = read_fresh();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].sequence, b.sequence);
  EXPECT_EQ(left[0].message->key_hash(), key_hash("other", "customer-7"))
      << "nothing of the key that waits";
}

TEST_P(StoreConformance, OneTenantsKeyStaysInOneShard) {
  for (const std::string tenant : {"acme", "other"}) {
    std::vector<MessagePtr> sent;
    for (int i = 0; i < 5; ++i) sent.push_back(build({.key = "customer-7", .tenant = tenant}));
    const auto rows = write(sent);
    for (const auto& row : rows) EXPECT_EQ(row.shard, rows.front().shard);
  }
}

TEST_P(StoreConformance, MessageIsFoundForItsTenantAndNeverGuessed) {
  const auto owner = own();
  const auto a = write(build({.tenant = "acme", .id = "o-7"}));
  const auto b = write(build({.tenant = "other", .id = "o-7"}));
  end(owner, b, spi::Verdict::dead);
  const auto find = [&](std::optional<std::string> tenant) {
    return admin().find({.table = table_, .id = a.id, .tenant = std::move(tenant)});
  };

  EXPECT_EQ(find("acme").value().value().sequence, a.sequence);
  EXPECT_EQ(find("other").value().value().sequence, b.sequence);
  EXPECT_FALSE(find("third").value().has_value());
  const auto unclear = find(std::nullopt);
  ASSERT_FALSE(unclear.ok());
  EXPECT_EQ(unclear.error().code, Code::request_invalid);
  EXPECT_NE(unclear.error().message.find("several tenants (\"acme\", \"other\")"),
            std::string::npos)
      << unclear.error().message;
}

TEST_P(StoreConformance, UnclearIdIsNotMovedAndOthersAre) {
  const auto owner = own();
  const auto a = write(build({.tenant = "acme", .id = "o-7"}));
  const auto b = write(build({.tenant = "other", .id = "o-7"}));
  const auto c = write(message());
  for (const auto& row : {a, b, c}) end(owner, row, spi::Verdict::dead);
  const auto before = log_end();

  const auto items = move(spi::Move::replay, {a.id, c.id}).items;

  EXPECT_FALSE(items.at(0).moved);
  EXPECT_EQ(items.at(0).was, std::nullopt);
  EXPECT_EQ(items.at(0).tenants, (Ids{"acme", "other"}));
  EXPECT_TRUE(items.at(1).moved);
  EXPECT_TRUE(items.at(1).tenants.empty());
  EXPECT_EQ(stats().dead, 2U);
  EXPECT_EQ(log(before).size(), 1U);

  const std::vector ids{a.id};
  const auto one = admin()
                       .move({.table = table_,
                              .move = spi::Move::replay,
                              .ids = ids,
                              .tenant = "other",
                              .actor = "ann"})
                       .value();
  EXPECT_TRUE(one.items.at(0).moved);
  EXPECT_EQ(list(MessageState::dead).at(0).sequence, a.sequence) << "the other one stays";
  EXPECT_EQ(log(before).back().event.tenant, "other");
}

TEST_P(StoreConformance, QuarantineAndReleaseKeepToOneTenant) {
  const auto a = write(build({.tenant = "acme", .id = "o-7"}));
  const auto b = write(build({.tenant = "other", .id = "o-7"}));
  const std::vector ids{a.id};
  const auto act = [&](spi::Move how) {
    return admin()
        .move({.table = table_, .move = how, .ids = ids, .tenant = "acme", .actor = "ann"})
        .value()
        .items.at(0)
        .moved;
  };

  EXPECT_TRUE(act(spi::Move::quarantine));
  EXPECT_EQ(list(MessageState::quarantined).at(0).sequence, a.sequence);
  EXPECT_EQ(list(MessageState::pending).at(0).sequence, b.sequence);
  EXPECT_TRUE(act(spi::Move::release)) << "the other tenant's pending message is no obstacle";
  EXPECT_EQ(stats().pending, 2U);
  EXPECT_EQ(stats().quarantined, 0U);
}

}  // namespace
}  // namespace sagabox::conformance
