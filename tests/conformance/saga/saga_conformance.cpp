#include "conformance/saga/saga_conformance.hpp"

#include <algorithm>

namespace sagabox::conformance {

SagaCommand SagaConformance::command(std::string_view saga, SagaCommandKind kind,
                                     std::string body) {
  return {.id = ids_.next<CommandId>(),
          .saga = saga_id(saga),
          .definition = std::string(travel),
          .tenant = "acme",
          .kind = kind,
          .body = std::move(body)};
}

void SagaConformance::append(const std::vector<SagaCommand>& commands) {
  store().transaction([&](OwnedTransaction& tx) { return tx.sagas().append(commands); }).value();
}

std::vector<SagaCommand> SagaConformance::inbox(std::string_view definition, Sequence after) {
  std::vector<spi::SagaInboxRange> ranges;
  for (std::uint16_t s = 0; s < shards(); ++s) ranges.push_back({Shard{s}, after, 10'000});
  auto rows = sagas().read_inbox(definition, ranges, bytes_unbounded).value().rows;
  std::ranges::sort(rows, {}, &SagaCommand::sequence);
  return rows;
}

spi::SagaInboxReply SagaConformance::read_inbox(const spi::SagaInboxRange& range,
                                                std::size_t bytes_max) {
  return sagas().read_inbox(travel, std::span(&range, 1), bytes_max).value();
}

Shard SagaConformance::shard_of(std::string_view saga) {
  if (const auto known = shards_.find(saga); known != shards_.end()) return known->second;
  auto asked = command(saga);
  asked.definition = "shards";
  append(asked);
  const auto rows = inbox("shards");
  const auto shard = rows.back().shard;
  shards_.emplace(std::string(saga), shard);
  return shard;
}

Owner SagaConformance::own_sagas(std::string_view definition) {
  const auto scope = "saga:" + std::string(definition);
  const std::vector<spi::Scope> scopes{scope};
  Owner owner{scope, ids_.next<WorkerId>(), {}};
  EXPECT_TRUE(ownership().join(owner.id, ttl, scopes, shards()).value().live);
  for (const auto& taken : ownership().take(scope, owner.id, shards()).value()) {
    owner.fences.push_back({taken.shard, taken.epoch});
  }
  std::ranges::sort(owner.fences, {}, &spi::Fence::shard);
  return owner;
}

SagaRecord SagaConformance::fresh(std::string_view id) {
  const auto at = now();
  return {.id = saga_id(id),
          .tenant = "acme",
          .definition = std::string(travel),
          .definition_version = 1,
          .shard = shard_of(id),
          .version = 1,
          .started_at = at,
          .changed_at = at,
          .body = R"({"step":0})"};
}

SagaRecord SagaConformance::next(SagaRecord record) {
  ++record.version;
  return record;
}

Result<spi::SagaBatchReply> SagaConformance::try_write(const Owner& owner, const Batch& batch,
                                                       std::string_view definition) {
  return sagas().write({.fencing = {owner.scope, owner.id, owner.fences},
                        .definition = definition,
                        .writes = batch.writes,
                        .taken = batch.taken,
                        .results = batch.results,
                        .messages = batch.messages,
                        .audit = batch.audit});
}

void SagaConformance::store_all(const Owner& owner, const std::vector<SagaRecord>& records) {
  Batch batch;
  for (const auto& record : records) batch.writes.push_back({.record = record});
  const auto reply = write_batch(owner, batch);
  EXPECT_TRUE(reply.written()) << (reply.reasons.empty() ? "not held" : reply.reasons.front());
}

std::vector<std::string> SagaConformance::listed(spi::SagaFilter filter) {
  std::vector<std::string> found;
  for (const auto& record : saga_admin().list({.filter = std::move(filter)}).value()) {
    found.push_back(record.id.str());
  }
  return found;
}

std::vector<std::string> SagaConformance::due_ids(Shard shard, std::uint32_t rows_max,
                                                  WallTime after_due, SagaId after) {
  std::vector<std::string> found;
  const auto rows = sagas().load_due(travel, {shard, after_due, after, rows_max}).value();
  for (const auto& record : rows) found.push_back(record.id.str());
  return found;
}

SagaHistoryEntry SagaConformance::entry(std::uint32_t number, WallTime at, std::string event) {
  return {.number = number,
          .at = at,
          .event = std::move(event),
          .step = number % 2 == 0 ? "book" : "",
          .detail = R"({"n":)" + std::to_string(number) + "}",
          .hash = sha256(std::to_string(number))};
}

}  // namespace sagabox::conformance
