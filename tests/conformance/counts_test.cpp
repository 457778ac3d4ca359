#include "conformance/store_conformance.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <utility>

namespace sagabox::conformance {
namespace {

enum class Act : std::uint8_t { write, settle, move, purge, job };

constexpr std::array all_states{MessageState::pending, MessageState::done, MessageState::dead,
                                MessageState::quarantined};

/// `rc::check`, but not always a hundred times.
template <class Property>
bool holds(const std::string& description, int runs, Property&& property) {
  auto params = rc::detail::configuration().testParams;
  params.maxSuccess = std::min(params.maxSuccess, runs);
  rc::detail::TestMetadata metadata;
  metadata.id = description;
  metadata.description = description;
  const auto result = rc::detail::checkTestable(std::forward<Property>(property), metadata, params);
  rc::detail::printResultMessage(result, std::cerr);
  std::cerr << '\n';
  return result.template is<rc::detail::SuccessResult>();
}

TEST_P(StoreConformance, CountsAddUpWhateverOperatorsDo) {
  int tables = 0;
  const std::string adds_up = "committed = done + pending + dead + quarantined + purged";
  EXPECT_TRUE(holds(adds_up, GetParam().property_runs, [&] {
    table_ = TableName::parse("t" + std::to_string(++tables)).value();
    outbox().prepare(table_).value();
    const auto owner = own();
    const auto replayer = own_replays();
    std::uint64_t committed = 0;
    std::uint64_t gone = 0;  // purged, or done and not retained

    const auto pick_state = [] { return all_states[*rc::gen::inRange<std::size_t>(0, 4)]; };
    const auto write_some = [&] {
      const auto count = *rc::gen::inRange<std::size_t>(1, 5);
      committed += write(messages(count, *rc::gen::element<std::string>("", "k"))).size();
    };
    const auto settle_some = [&] {
      std::vector<spi::Settlement> items;
      const bool retain = *rc::gen::arbitrary<bool>();
      for (const auto& row : list(MessageState::pending)) {
        const auto verdict = static_cast<spi::Verdict>(*rc::gen::inRange(0, 6));
        if (verdict > spi::Verdict::attempt) continue;
        items.push_back(settlement({row.id, row.sequence, row.shard}, verdict, row.attempts + 1));
      }
      RC_ASSERT(settled(owner, items, retain) == items.size());
      RC_ASSERT(settled(owner, {}, retain) == 0U);
      if (retain) return;
      gone += static_cast<std::uint64_t>(
          std::ranges::count(items, spi::Verdict::done, &spi::Settlement::verdict));
    };
    const auto move_some = [&] {
      std::vector<MessageId> ids;
      for (const auto& row : list(pick_state())) {
        if (*rc::gen::arbitrary<bool>()) ids.push_back(row.id);
      }
      (void)move(static_cast<spi::Move>(*rc::gen::inRange(0, 3)), ids);
    };
    const auto run_job = [&] {
      const auto from = all_states[*rc::gen::inRange<std::size_t>(1, 4)];
      const auto job = control().create_job({.table = table_, .from = from}).value();
      const auto rows_max = *rc::gen::inRange<std::uint32_t>(1, 4);
      while (advance(replayer, job.id, rows_max).job.state == ReplayJob::State::running) continue;
      RC_ASSERT(control().jobs(table_).value().back().replayed == job.matched);
    };
    const auto purge_some = [&] {
      const auto rows_max = *rc::gen::inRange<std::uint32_t>(0, 4);
      gone += admin()
                  .purge({.table = table_, .state = pick_state(), .rows_max = rows_max})
                  .value()
                  .rows;
    };

    const auto acts = *rc::gen::container<std::vector<Act>>(
        rc::gen::element(Act::write, Act::settle, Act::move, Act::purge, Act::job));
    for (const auto act : acts) {
      switch (act) {
        case Act::write:
          write_some();
          break;
        case Act::settle:
          settle_some();
          break;
        case Act::move:
          move_some();
          break;
        case Act::purge:
          purge_some();
          break;
        case Act::job:
          run_job();
          break;
      }
      const auto now = stats();
      RC_ASSERT(committed == now.done + now.pending + now.dead + now.quarantined + gone);
      RC_ASSERT(list(MessageState::pending).size() == now.pending);
      RC_ASSERT(list(MessageState::done).size() == now.done);
      RC_ASSERT(list(MessageState::dead).size() == now.dead);
      RC_ASSERT(list(MessageState::quarantined).size() == now.quarantined);
      RC_ASSERT(now.oldest_pending.has_value() == (now.pending > 0));
      RC_ASSERT(admin().strays(table_, 1).value().empty());
      RC_ASSERT(read_fresh().size() + now.waiting == now.pending);
    }
  }));
  AuditVerifier verifier;
  for (std::uint64_t after = 0;;) {
    const auto entries = audit().read(after, 1'000).value();
    if (entries.empty()) break;
    for (const auto& entry : entries) ASSERT_EQ(verifier.next(entry), "");
    after = entries.back().number;
  }
  EXPECT_EQ(verifier.end(audit().head().value()), "");
}

}  // namespace
}  // namespace sagabox::conformance
