#include "integration/admin/world.hpp"

namespace sagabox::integration {
namespace {

using Ids = std::vector<MessageId>;

/// A copy of an audit log in hands that change it.
class TamperedStore final : public Store, private spi::AuditStore {
 public:
  explicit TamperedStore(Store& store)
      : store_(store),
        entries(store.audit().read(0, 10'000).value()),
        log_head(store.audit().head().value()) {}

  spi::OutboxStore& outbox() override { return store_.outbox(); }
  spi::OutboxAdminStore& outbox_admin() override { return store_.outbox_admin(); }
  spi::ControlStore& control() override { return store_.control(); }
  spi::OwnershipStore& ownership() override { return store_.ownership(); }
  spi::AuditStore& audit() override { return *this; }
  Result<std::unique_ptr<OwnedTransaction>> begin() override { return store_.begin(); }
  [[nodiscard]] std::string name() const override { return store_.name(); }

 private:
  Result<AuditHead> append(std::span<const AuditEvent> events) override {
    for (const auto& event : events) {
      entries.push_back(chain(log_head, event));
      log_head = {entries.back().number, entries.back().hash};
    }
    return log_head;
  }
  Result<std::vector<AuditEntry>> read(std::uint64_t after, std::uint32_t rows_max) override {
    page_max = std::max(page_max, rows_max);
    std::vector<AuditEntry> page;
    for (const auto& entry : entries) {
      if (entry.number > after && page.size() < rows_max) page.push_back(entry);
    }
    if (while_reading) while_reading();
    return page;
  }
  Result<AuditHead> head() override { return log_head; }

  Store& store_;

 public:
  std::vector<AuditEntry> entries;
  AuditHead log_head;
  std::uint32_t page_max = 0;
  std::function<void()> while_reading{};
};

class AuditLogTest : public AdminTest {
 protected:
  /// One of every act.
  void act() {
    Admin ann = admin();
    const Ids ids{dead("d1"), write({.id = "p1"})};
    ann.quarantine(orders_, ids, "why").value();
    ann.release(orders_, Ids{ids[1]}).value();
    ann.replay(orders_, Ids{ids[0]}).value();
    ann.pause_table(orders_).value();
    ann.resume_table(orders_).value();
    const auto job = ann.start_replay(orders_, {}).value();
    ann.stop_replay(orders_, job.id).value();
    ann.resume_replay(orders_, job.id).value();
    ann.purge(orders_, {.state = MessageState::pending, .older_than = 0s, .force_pending = true})
        .value();
  }

  AuditReport verify(Store& store, std::optional<AuditHead> anchor = {}) {
    return Admin::open(store, {.actor = "ann"}).value().verify_audit(anchor).value();
  }
};

TEST_F(AuditLogTest, EveryActIsThereAndVerifies) {
  act();
  std::vector<AuditKind> kinds;
  for (const auto& entry : audit_log()) {
    kinds.push_back(entry.event.kind);
    EXPECT_EQ(entry.event.actor, entry.event.kind == AuditKind::dead_letter ? "" : "ann");
  }
  using enum AuditKind;
  EXPECT_EQ(kinds,
            (std::vector{dead_letter, quarantined, quarantined, released, replayed, paused, resumed,
                         tx_replay_requested, replay_stopped, replay_resumed, purged, purged}));
  const auto report = admin().verify_audit().value();
  EXPECT_EQ(report.entries, kinds.size());
  EXPECT_EQ(report.problems_found, 0U);
  EXPECT_EQ(report.head, store_.audit().head().value());
}

TEST_F(AuditLogTest, AnEmptyLogVerifies) {
  const auto report = admin().verify_audit().value();
  EXPECT_EQ(report.entries, 0U);
  EXPECT_TRUE(report.problems.empty());
  EXPECT_EQ(report.head, AuditHead{});
}

TEST_F(AuditLogTest, ATamperedCopyDoesNotVerify) {
  act();
  EXPECT_TRUE(verify(store_).problems.empty());
  using Strings = std::vector<std::string>;

  TamperedStore edited(store_);
  edited.entries[4].event.actor = "bob";
  EXPECT_EQ(verify(edited).problems,
            Strings{"entry 5: does not fit its hash; it was changed after it was written"});

  TamperedStore removed(store_);
  removed.entries.erase(removed.entries.begin() + 4);
  EXPECT_EQ(verify(removed).problems, Strings{"entry 6: 1 entry is missing before it"});

  TamperedStore cut(store_);
  cut.entries.resize(10);
  EXPECT_EQ(verify(cut).problems,
            Strings{"the log ends with entry 10, its head names entry 12: 2 entries are missing at "
                    "the end"});

  TamperedStore added(store_);
  added.entries.push_back(chain(added.log_head, {.kind = AuditKind::paused}));
  EXPECT_EQ(verify(added).problems,
            Strings{"the log ends with entry 13, its head names entry 12: entries were added past "
                    "it, or the head was changed"});
}

TEST_F(AuditLogTest, AnAnchorKeptElsewhereFindsARewrittenLog) {
  dead("d0");
  const AuditHead anchor = admin().verify_audit().value().head;
  act();
  const auto report = verify(store_, anchor);
  EXPECT_EQ(report.entries, audit_log().size()) << "also those before the anchor";
  EXPECT_TRUE(report.problems.empty());

  // Everything written anew, head included: only the anchor knows.
  TamperedStore rewritten(store_);
  auto events = std::exchange(rewritten.entries, {});
  rewritten.log_head = {};
  for (auto& entry : events) {
    entry.event.actor = "bob";
    const std::vector one{entry.event};
    ASSERT_TRUE(rewritten.audit().append(one).ok());
  }
  EXPECT_TRUE(verify(rewritten).problems.empty());
  EXPECT_EQ(verify(rewritten, anchor).problems_found, 1U);

  TamperedStore emptied(store_);
  emptied.entries.clear();
  emptied.log_head = {};
  EXPECT_EQ(verify(emptied, anchor).problems,
            std::vector<std::string>{
                "the log ends with entry 0, before the anchor at entry 1; it was cut or replaced"});
  EXPECT_EQ(verify(store_, AuditHead{audit_log().size(), {}}).problems_found, 1U);
}

TEST_F(AuditLogTest, WhatStandsBeforeAnAnchorIsLookedAtToo) {
  act();
  const AuditHead anchor = admin().verify_audit().value().head;
  using Strings = std::vector<std::string>;

  TamperedStore emptied(store_);
  emptied.entries.clear();
  const auto report = verify(emptied, anchor);
  EXPECT_EQ(report.problems,
            (Strings{"the log ends with entry 0, its head names entry 12: 12 entries are missing "
                     "at the end",
                     "entry 12, which the anchor names, is missing"}))
      << "all deleted, the head left";

  TamperedStore edited(store_);
  edited.entries[4].event.actor = "bob";
  EXPECT_EQ(verify(edited, anchor).problems,
            Strings{"entry 5: does not fit its hash; it was changed after it was written"});

  TamperedStore removed(store_);
  removed.entries.erase(removed.entries.begin());
  EXPECT_EQ(verify(removed, anchor).problems, Strings{"entry 2: 1 entry is missing before it"});

  TamperedStore cut(store_);
  cut.entries.resize(10);
  cut.log_head = {10, cut.entries.back().hash};
  EXPECT_TRUE(verify(cut).problems.empty()) << "only the anchor knows";
  EXPECT_EQ(verify(cut, anchor).problems,
            Strings{"the log ends with entry 10, before the anchor at entry 12; it was cut or "
                    "replaced"});
  EXPECT_EQ(verify(cut, anchor).entries, 10U) << "and the rest is looked at all the same";
}

/// Read in pages: however long the log is, no more than a page of it is held.
TEST_F(AuditLogTest, ALongLogIsReadInPages) {
  const std::vector<AuditEvent> events(2500, AuditEvent{.kind = AuditKind::paused});
  ASSERT_TRUE(store_.audit().append(events).ok());
  TamperedStore long_log(store_);
  const auto report = verify(long_log, AuditHead{1500, long_log.entries[1499].hash});
  EXPECT_EQ(report.entries, 2500U);
  EXPECT_TRUE(report.problems.empty());
  EXPECT_LE(long_log.page_max, 1000U);
}

TEST_F(AuditLogTest, ALogThatGrowsMeanwhileVerifies) {
  act();
  TamperedStore growing(store_);
  int left = 3;
  growing.while_reading = [&] {
    const std::vector<AuditEvent> one{{.kind = AuditKind::paused}};
    if (left-- > 0) growing.audit().append(one).value();
  };
  const auto report = verify(growing);
  EXPECT_TRUE(report.problems.empty());
  EXPECT_EQ(report.entries, 15U);
}

TEST_F(AuditLogTest, ManyProblemsAreCountedAndTheFirstShown) {
  const std::vector<AuditEvent> events(2500, AuditEvent{.kind = AuditKind::paused});
  ASSERT_TRUE(store_.audit().append(events).ok());
  TamperedStore edited(store_);
  for (auto& entry : edited.entries) entry.event.actor = "bob";
  const auto report = verify(edited);
  EXPECT_EQ(report.entries, 2500U);
  EXPECT_EQ(report.problems_found, 2500U);
  EXPECT_EQ(report.problems.size(), AuditReport::problems_max);
  EXPECT_TRUE(verify(store_).problems.empty());
}

TEST_F(AuditLogTest, TheExportVerifiesElsewhereAndHasNoPayload) {
  act();
  AuditVerifier verifier;
  const auto lines = admin().export_audit([&](std::string_view line) {
    EXPECT_EQ(line.find("4111"), std::string_view::npos);
    EXPECT_EQ(verifier.next(audit_from_json(line).value()), "");
    return true;
  });
  EXPECT_EQ(lines.value(), audit_log().size());
  EXPECT_EQ(verifier.end(store_.audit().head().value()), "");
}

TEST_F(AuditLogTest, TheExportGoesOnFromAnEntryAndStopsOnDemand) {
  act();
  std::vector<std::uint64_t> numbers;
  const auto lines = admin().export_audit(
      [&](std::string_view line) {
        numbers.push_back(audit_from_json(line).value().number);
        return numbers.size() < 2;
      },
      5);
  EXPECT_EQ(lines.value(), 2U);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{6, 7}));
}

TEST_F(AuditLogTest, NeitherLogNorAuditShowsAPayload) {
  act();
  for (const auto& line : log_.lines()) {
    for (const auto& [name, value] : line.fields) {
      EXPECT_EQ(value.find("4111"), std::string::npos) << name;
    }
  }
  for (const auto& event : audit_.events()) {
    EXPECT_EQ(event.detail.find("4111"), std::string::npos);
  }
}

}  // namespace
}  // namespace sagabox::integration
