#include "stores/memory/table.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace sagabox::memory {
namespace {

/// What the table should hold, kept the plain way.
struct Model {
  struct Row {
    Shard shard{};
    spi::Lane lane{};
    MessageId id;
    bool waits = false;
    WallTime due{};
    bool has_key = false;
  };
  std::map<Sequence, Row> pending;
  struct Retained {
    MessageId id;
    Shard shard{};
    spi::Lane lane{};
    bool has_key = false;
    bool quarantined = false;
  };
  std::map<Sequence, Retained> retained;
};

/// Random transactions that commit out of order or roll back, random settles, and after every
/// step the table reads as the model says.
class TableAgainstModel {
 public:
  explicit TableAgainstModel(std::uint64_t seed) : random_(seeded_random(seed)) {}

  void step() {
    switch (random_->below(10)) {
      case 0:
      case 1:
        insert();
        break;
      case 2:
      case 3:
        end_one();
        break;
      case 4:
        clock_.advance(std::chrono::seconds(random_->below(5)));
        break;
      case 5:
        table_ = table_->committed_copy();  // as a fail-over would: what is open is gone
        open_.clear();
        break;
      case 6:
        quarantine_one();
        break;
      case 7:
        bring_some_back();
        break;
      default:
        settle_some();
    }
  }

  void check() {
    check_lanes();
    check_due();
    check_stats();
    ASSERT_EQ(table_->inspect().size(), model_.pending.size() + model_.retained.size());
  }

 private:
  static constexpr std::uint16_t shards = 3;
  struct Open {
    TransactionId id{};
    std::vector<Drawn> drawn;
    std::map<Sequence, Model::Row> rows;
  };

  void insert() {
    if (open_.size() < 4) open_.push_back({TransactionId{next_transaction_++}, {}, {}});
    Open& tx = open_[random_->below(open_.size())];
    std::vector<std::shared_ptr<const Message>> batch;
    const auto count = 1 + random_->below(20);
    for (std::uint64_t i = 0; i < count; ++i) {
      NewMessage draft{.topic = "a.b.c.v1", .payload = json("{}")};
      draft.priority = static_cast<Priority>(random_->below(3));
      if (random_->below(2) == 0) draft.key = "k" + std::to_string(random_->below(9));
      if (random_->below(8) == 0) draft.not_before = clock_.wall_now() + std::chrono::seconds(3);
      batch.push_back(std::make_shared<const Message>(
          Message::build(std::move(draft), MessageRules{}, ids_, clock_).value()));
    }
    Drawn drawn;
    const auto written = table_->insert(tx.id, batch, clock_.wall_now(), drawn).value();
    ASSERT_EQ(drawn.count, count);
    tx.drawn.push_back(drawn);
    for (std::size_t i = 0; i < written.size(); ++i) {
      const auto& due = batch[i]->not_before();
      tx.rows[written[i].sequence] = {
          written[i].shard, spi::lane_of(*batch[i]),  written[i].id,
          due.has_value(),  due.value_or(WallTime{}), batch[i]->has_key()};
    }
  }

  void end_one() {
    if (open_.empty()) return;
    const auto which = random_->below(open_.size());
    Open& tx = open_[which];
    if (random_->below(4) == 0) {
      for (const auto& drawn : tx.drawn) table_->discard(drawn);
    } else {
      for (const auto& drawn : tx.drawn) table_->publish(drawn);
      table_->publish_done();
      model_.pending.merge(tx.rows);
    }
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  void settle_some() {
    Table::Released released;
    // Mostly from the front, as a relay does, sometimes with holes.
    const auto keep = random_->below(4) == 0 ? 2U : 50U;
    auto left = random_->below(40);
    for (auto at = model_.pending.begin(); at != model_.pending.end() && left > 0; --left) {
      const auto row = at++;
      if (random_->below(keep) == 0) continue;
      settle(row, released);
    }
  }

  void settle(std::map<Sequence, Model::Row>::iterator row, Table::Released& released) {
    spi::Settlement item{
        .sequence = row->first, .shard = row->second.shard, .id = row->second.id, .attempts = 1};
    const bool retain = random_->below(3) == 0;
    if (random_->below(6) == 0) {
      item.verdict = spi::Verdict::retry;
      item.delay = std::chrono::seconds(random_->below(4));
      row->second.waits = true;
      row->second.due =
          clock_.wall_now() + std::chrono::duration_cast<WallTime::duration>(item.delay);
    }
    ASSERT_TRUE(table_->settle(item, clock_.wall_now(), retain, released));
    if (item.verdict == spi::Verdict::retry) return;
    ASSERT_FALSE(table_->settle(item, clock_.wall_now(), retain, released));
    if (retain) retain_row(*row, false);
    model_.pending.erase(row);
  }

  void retain_row(const std::pair<const Sequence, Model::Row>& row, bool quarantined) {
    model_.retained[row.first] = {row.second.id, row.second.shard, row.second.lane,
                                  row.second.has_key, quarantined};
  }

  void quarantine_one() {
    if (model_.pending.empty()) return;
    const auto row = std::next(model_.pending.begin(),
                               static_cast<std::ptrdiff_t>(random_->below(model_.pending.size())));
    table_->quarantine(row->first, "why", clock_.wall_now());
    retain_row(*row, true);
    model_.pending.erase(row);
  }

  void bring_some_back() {
    Table::Released released;
    for (auto at = model_.retained.begin(); at != model_.retained.end();) {
      const auto [sequence, row] = *at;
      const auto what = random_->below(4);
      if (what == 0) {
        ++at;
        continue;
      }
      at = model_.retained.erase(at);
      if (what == 1) {
        table_->purge(sequence, released);
        ASSERT_TRUE(table_->find(row.id).empty());
      } else if (row.quarantined && what == 2) {
        table_->release(sequence, clock_.wall_now());
        model_.pending[sequence] = {row.shard, row.lane,          row.id,
                                    true,      clock_.wall_now(), row.has_key};
      } else {
        table_->replay(sequence, TransactionId{next_transaction_++}, clock_.wall_now(), false);
        const auto found = table_->find(row.id);
        ASSERT_EQ(found.size(), 1U);
        const auto to = found[0];
        ASSERT_EQ(table_->row(sequence), nullptr);
        const Shard shard =
            row.has_key ? row.shard : Shard{static_cast<std::uint16_t>(to.value % shards)};
        model_.pending[to] = {shard, row.lane, row.id, false, {}, row.has_key};
      }
    }
  }

  void check_lanes() {
    for (std::uint16_t s = 0; s < shards; ++s) {
      for (std::uint8_t l = 0; l < spi::lane_count; ++l) {
        const Sequence after{random_->below(2) == 0 ? 0 : random_->below(2'000)};
        std::vector<Sequence> expected;
        for (const auto& [sequence, row] : model_.pending) {
          if (sequence > after && row.shard.value == s && row.lane.value == l && !row.waits) {
            expected.push_back(sequence);
          }
        }
        std::vector<spi::Row> rows;
        ReadBudget budget(1 << 30);
        const auto part = table_->read({Shard{s}, spi::Lane{l}, after, 1'000'000}, budget, rows);
        ASSERT_EQ(sequences(rows), expected);
        ASSERT_TRUE(part.exhausted);
      }
    }
  }

  void check_due() {
    for (std::uint16_t s = 0; s < shards; ++s) {
      std::set<std::pair<WallTime, Sequence>> waiting;
      for (const auto& [sequence, row] : model_.pending) {
        if (row.shard.value == s && row.waits && row.due <= clock_.wall_now()) {
          waiting.insert({row.due, sequence});
        }
      }
      std::vector<Sequence> expected;
      for (const auto& [due, sequence] : waiting) expected.push_back(sequence);
      std::vector<spi::Row> rows;
      ReadBudget budget(1 << 30);
      (void)table_->read_due({Shard{s}, {}, {}, 1'000'000}, clock_.wall_now(), budget, rows);
      ASSERT_EQ(sequences(rows), expected);
    }
  }

  void check_stats() {
    const auto stats = table_->stats(clock_.wall_now());
    ASSERT_EQ(stats.pending, model_.pending.size());
    ASSERT_EQ(stats.done + stats.quarantined, model_.retained.size());
    ASSERT_TRUE(table_->strays(1).empty());
    ASSERT_EQ(stats.oldest_pending.has_value(), !model_.pending.empty());
    if (model_.pending.empty()) return;
    for (const auto& row : table_->inspect()) {
      if (row.row.sequence != model_.pending.begin()->first) continue;
      ASSERT_EQ(*stats.oldest_pending, row.row.written_at);
    }
  }

  static std::vector<Sequence> sequences(const std::vector<spi::Row>& rows) {
    std::vector<Sequence> all;
    for (const auto& row : rows) all.push_back(row.sequence);
    return all;
  }

  std::unique_ptr<Random> random_;
  testing::FakeClock clock_;
  UlidSource ids_{clock_, *random_};
  std::unique_ptr<Table> table_ = std::make_unique<Table>(shards);
  Model model_;
  std::vector<Open> open_;
  std::uint64_t next_transaction_ = 1;
};

TEST(MemoryTable, ReadsAsThePlainModelDoes) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TableAgainstModel run(seed);
    for (int i = 0; i < 300; ++i) {
      run.step();
      run.check();
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

constexpr auto nobody_cares = [](std::span<const Sequence>) {};

TEST(FreshLane, KeepsOrderWhileRowsLeaveFromTheMiddle) {
  FreshLane lane;
  std::set<Sequence> live;
  const auto is_live = [&](Sequence sequence) { return live.contains(sequence); };
  const auto contents = [&] {
    std::vector<Sequence> all;
    const auto visit = [&](Sequence sequence) {
      if (is_live(sequence)) all.push_back(sequence);
      return true;
    };
    lane.each_after({}, visit, nobody_cares);
    return all;
  };
  for (std::uint64_t s = 1; s <= 5'000; ++s) {
    if (s % 5 == 0) continue;
    EXPECT_FALSE(lane.append(Sequence{s}));
    live.insert(Sequence{s});
  }
  for (std::uint64_t s = 2; s <= 5'000; s += 2) {
    if (live.erase(Sequence{s}) == 1) lane.one_left(is_live);
  }
  EXPECT_TRUE(lane.append(Sequence{10})) << "below what is there";
  EXPECT_FALSE(lane.append(Sequence{4'000}));
  EXPECT_FALSE(lane.append(Sequence{5'005}));
  lane.merge();
  for (const std::uint64_t s : {10U, 4'000U, 5'005U}) live.insert(Sequence{s});

  EXPECT_EQ(contents(), std::vector<Sequence>(live.begin(), live.end()));

  std::size_t seen = 0;
  lane.each_after({}, [&](Sequence) { return ++seen > 0; }, nobody_cares);
  EXPECT_LT(seen, live.size() * 3 / 2) << "gaps are cleared away";
}

TEST(FreshLane, ForgetsWhatLeftFromTheFront) {
  FreshLane lane;
  for (std::uint64_t s = 1; s <= 100'000; ++s) (void)lane.append(Sequence{s});
  std::uint64_t first_live = 1;
  const auto is_live = [&](Sequence sequence) { return sequence.value >= first_live; };
  while (first_live < 99'999) {
    ++first_live;
    lane.one_left(is_live);
  }
  std::vector<Sequence> visited;
  std::vector<std::size_t> to_come;
  const auto visit = [&](Sequence sequence) {
    visited.push_back(sequence);
    return true;
  };
  lane.each_after({}, visit,
                  [&](std::span<const Sequence> rest) { to_come.push_back(rest.size()); });
  EXPECT_EQ(visited, (std::vector<Sequence>{Sequence{99'999}, Sequence{100'000}}));
  EXPECT_EQ(to_come, (std::vector<std::size_t>{2, 1}));
}

}  // namespace
}  // namespace sagabox::memory
