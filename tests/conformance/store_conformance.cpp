#include "conformance/store_conformance.hpp"

#include <algorithm>
#include <array>

namespace sagabox::conformance {

std::ostream& operator<<(std::ostream& out, StoredRow::State state) {
  constexpr std::array names{"pending", "waiting", "done", "dead", "quarantined"};
  return out << names[static_cast<std::size_t>(state)];
}

std::ostream& operator<<(std::ostream& out, const StoreKind& kind) { return out << kind.name; }

std::string kind_name(const ::testing::TestParamInfo<StoreKind>& info) { return info.param.name; }

void StoreConformance::SetUp() {
  if (const auto missing = GetParam().missing(); !missing.empty()) GTEST_SKIP() << missing;
  fixture_ = GetParam().make();
  outbox().prepare(table_).value();
  outbox().prepare(other_table_).value();
  if (auto* requests = store().idempotency()) requests->prepare().value();
  if (auto* inbox = store().inbox()) inbox->prepare().value();
  if (auto* sagas = store().sagas()) sagas->prepare().value();
  if (const auto hub = store().hub()) hub->events.prepare().value();
  fixture_->prepared();
}

MessagePtr StoreConformance::build(NewMessage draft) {
  if (draft.topic.empty()) draft.topic = "orders.order.placed.v1";
  if (!draft.payload.given()) draft.payload = json("{}");
  return std::make_shared<const Message>(
      Message::build(std::move(draft), MessageRules{}, ids_, author_clock_).value());
}

MessagePtr StoreConformance::message(std::string key) { return build({.key = std::move(key)}); }

std::vector<MessagePtr> StoreConformance::messages(std::size_t count, const std::string& key) {
  std::vector<MessagePtr> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(message(key));
  return all;
}

std::vector<Written> StoreConformance::write(const std::vector<MessagePtr>& messages) {
  return write_to(table_, messages);
}

std::vector<Written> StoreConformance::write_to(const TableName& table,
                                                const std::vector<MessagePtr>& messages) {
  return store()
      .transaction([&](OwnedTransaction& tx) { return tx.outbox().insert(table, messages); })
      .value();
}

std::vector<spi::Row> StoreConformance::read_lane(spi::Lane lane, Sequence after) {
  return read_lane_of(table_, lane, after);
}

std::vector<spi::Row> StoreConformance::read_lane_of(const TableName& table, spi::Lane lane,
                                                     Sequence after) {
  std::vector<spi::Range> ranges;
  for (std::uint16_t s = 0; s < shards(); ++s) ranges.push_back({Shard{s}, lane, after, 10'000});
  auto rows = outbox().read(table, ranges, bytes_unbounded).value().rows;
  std::ranges::sort(rows, {}, &spi::Row::sequence);
  return rows;
}

std::vector<spi::Row> StoreConformance::read_fresh() {
  std::vector<spi::Row> all;
  for (const auto lane : {lane_high, lane_normal, lane_low}) {
    std::ranges::move(read_lane(lane), std::back_inserter(all));
  }
  std::ranges::sort(all, {}, &spi::Row::sequence);
  return all;
}

std::vector<spi::Row> StoreConformance::read_due() {
  std::vector<spi::DueRange> ranges;
  for (std::uint16_t s = 0; s < shards(); ++s) ranges.push_back({Shard{s}, {}, {}, 10'000});
  auto rows = outbox().read_due(table_, ranges, bytes_unbounded).value().rows;
  std::ranges::sort(rows, {}, [](const spi::Row& row) { return std::pair(row.due, row.sequence); });
  return rows;
}

spi::Horizon StoreConformance::horizon() {
  return read({Shard{0}, lane_normal, {}, 1}).horizon.value();
}

TransactionId StoreConformance::only_new(const spi::Horizon& before, const spi::Horizon& during,
                                         OwnedTransaction& open) {
  if (const auto known = fixture_->id_of(open)) return *known;
  std::vector<TransactionId> added;
  std::ranges::set_difference(during.in_progress, before.in_progress, std::back_inserter(added));
  EXPECT_EQ(added.size(), 1U);
  return added.empty() ? TransactionId{} : added[0];
}

spi::ReadReply StoreConformance::read(const spi::Range& range, std::size_t bytes_max) {
  return outbox().read(table_, std::span(&range, 1), bytes_max).value();
}

WorkerId StoreConformance::join(Duration lease) {
  const auto worker = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{scope()};
  EXPECT_TRUE(ownership().join(worker, lease, scopes, shards()).value().live);
  return worker;
}

Owner StoreConformance::own() {
  Owner owner{scope(), join(), {}};
  for (const auto& taken : ownership().take(scope(), owner.id, shards()).value()) {
    owner.fences.push_back({taken.shard, taken.epoch});
  }
  std::ranges::sort(owner.fences, {}, &spi::Fence::shard);
  return owner;
}

spi::SettleReply StoreConformance::settle(const Owner& owner,
                                          const std::vector<spi::Settlement>& items,
                                          bool retain_done) {
  return outbox()
      .settle({.table = table_,
               .fencing = {owner.scope, owner.id, owner.fences},
               .items = items,
               .retain_done = retain_done})
      .value();
}

std::uint32_t StoreConformance::settled(const Owner& owner,
                                        const std::vector<spi::Settlement>& items,
                                        bool retain_done) {
  std::uint32_t rows = 0;
  for (const auto& part : settle(owner, items, retain_done).parts) rows += part.rows;
  return rows;
}

StoredRow StoreConformance::look(const MessageId& id) {
  const auto row = fixture_->look(table_, id);
  EXPECT_TRUE(row.has_value()) << "no row with id " << id.view();
  return row.value_or(StoredRow{});
}

void StoreConformance::end(const Owner& owner, const Written& row, spi::Verdict verdict,
                           Code code) {
  auto item = settlement(row, verdict);
  if (verdict != spi::Verdict::done) {
    item.code = code;
    item.error = "it failed";
  }
  EXPECT_EQ(settled(owner, {item}), 1U);
}

MessageRecord StoreConformance::record(const MessageId& id) {
  auto found = admin().find({.table = table_, .id = id}).value();
  EXPECT_TRUE(found.has_value()) << "no message with id " << id.view();
  return std::move(found).value_or(MessageRecord{});
}

std::vector<MessageRecord> StoreConformance::list(MessageState state, MessageFilter filter) {
  auto reply =
      admin()
          .list({.table = table_, .state = state, .filter = std::move(filter), .rows_max = 10'000})
          .value();
  EXPECT_TRUE(reply.exhausted);
  return std::move(reply.rows);
}

spi::MoveReply StoreConformance::move(spi::Move how, const std::vector<MessageId>& ids,
                                      std::string note) {
  auto reply =
      admin()
          .move({.table = table_, .move = how, .ids = ids, .actor = "ann", .note = std::move(note)})
          .value();
  EXPECT_EQ(reply.items.size(), ids.size());
  return reply;
}

spi::PurgeReply StoreConformance::purge(MessageState state, Duration older_than,
                                        std::string actor) {
  return admin()
      .purge({.table = table_,
              .state = state,
              .older_than = older_than,
              .rows_max = 10'000,
              .actor = std::move(actor)})
      .value();
}

std::vector<AuditEntry> StoreConformance::log(std::uint64_t after) {
  return audit().read(after, 10'000).value();
}

StoreConformance::Replayer StoreConformance::own_replays() {
  const auto worker = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{replay_scope()};
  EXPECT_TRUE(ownership().join(worker, ttl, scopes, 1).value().live);
  const auto taken = ownership().take(scopes[0], worker, 1).value();
  EXPECT_EQ(taken.size(), 1U);
  return {worker, taken.empty() ? Epoch{} : taken[0].epoch};
}

spi::JobAdvanceReply StoreConformance::advance(const Replayer& replayer, ReplayJobId job,
                                               std::uint32_t rows_max) {
  const spi::Fence fence{.shard = Shard{0}, .epoch = replayer.epoch};
  return control()
      .advance_job({.table = table_,
                    .job = job,
                    .fencing = {replay_scope(), replayer.id, {&fence, 1}},
                    .rows_max = rows_max})
      .value();
}

spi::Settlement StoreConformance::settlement(const Written& row, spi::Verdict verdict,
                                             std::uint32_t attempts) {
  return {.sequence = row.sequence,
          .shard = row.shard,
          .id = row.id,
          .verdict = verdict,
          .attempts = attempts};
}

std::vector<std::string> ids_of(const std::vector<spi::Row>& rows) {
  std::vector<std::string> ids;
  for (const auto& row : rows) ids.push_back(row.id.str());
  return ids;
}

std::vector<std::string> ids_of(const std::vector<MessagePtr>& messages) {
  std::vector<std::string> ids;
  for (const auto& message : messages) ids.push_back(message->id().str());
  return ids;
}

std::vector<std::string> ids_of(const std::vector<Written>& written) {
  std::vector<std::string> ids;
  for (const auto& row : written) ids.push_back(row.id.str());
  return ids;
}

std::vector<std::string> ids_of(const std::vector<MessageRecord>& records) {
  std::vector<std::string> ids;
  for (const auto& record : records) ids.push_back(record.id.str());
  return ids;
}

}  // namespace sagabox::conformance
