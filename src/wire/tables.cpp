#include "wire/tables.hpp"

#include "wire/field_reading.hpp"
#include "wire/filters.hpp"

namespace sagabox::wire {
namespace {

spi::TableStats read_stats(Fields& fields) {
  spi::TableStats stats;
  stats.pending = number_in(fields, "pending");
  stats.estimated = fields.flag("pending_estimated");
  stats.waiting = number_in(fields, "waiting");
  stats.done = number_in(fields, "done");
  stats.done_estimated = fields.flag("done_estimated");
  stats.dead = number_in(fields, "dead");
  stats.dead_estimated = fields.flag("dead_estimated");
  stats.quarantined = number_in(fields, "quarantined");
  stats.oldest_pending = fields.time("oldest_pending");
  stats.now = time_in(fields, "now");
  stats.oldest_transaction = maybe_seconds_in(fields, "oldest_transaction_seconds");
  stats.slot_transactions = maybe_number_in(fields, "slot_transactions");
  return stats;
}

RefusedResult read_refused(Fields& fields) {
  return {.id = message_id_in(fields, "id"),
          .sequence = Sequence{number_in(fields, "sequence")},
          .delivered = flag_in(fields, "delivered"),
          .code = code_from_name(text_in(fields, "code")),
          .error = fields.text("error")};
}

UnroutedTopic read_unrouted(Fields& fields) {
  return {.aggregate_type = text_in(fields, "aggregate_type"),
          .topic = text_in(fields, "topic"),
          .since = time_in(fields, "since"),
          .until = time_in(fields, "until")};
}

TableWork read_work(Fields& fields) {
  TableWork work;
  auto& snapshot = work.snapshot;
  snapshot.shards_owned = small_in<std::uint32_t>(fields, "shards_owned");
  snapshot.hot_depth = number_in(fields, "hot_depth");
  snapshot.cold_depth = number_in(fields, "cold_depth");
  snapshot.running = number_in(fields, "running");
  snapshot.unsettled = number_in(fields, "unsettled");
  snapshot.blocked_keys = number_in(fields, "blocked_keys");
  snapshot.delivered = number_in(fields, "delivered");
  snapshot.retried = number_in(fields, "retried");
  snapshot.dead = number_in(fields, "dead");
  snapshot.table_paused = flag_in(fields, "table_paused");
  // Daemons before 0.1.0 do not send it.
  snapshot.refused = maybe_number_in(fields, "refused").value_or(0);
  if (fields.has("refused_messages")) {
    work.refused = list_in(fields, "refused_messages", read_refused);
  }
  snapshot.unrouted_topics = maybe_number_in(fields, "unrouted").value_or(0);
  if (fields.has("unrouted_topics")) {
    work.unrouted = list_in(fields, "unrouted_topics", read_unrouted);
  }
  return work;
}

spi::ShardOwner read_shard(Fields& fields) {
  spi::ShardOwner shard{.shard = Shard{small_in<std::uint16_t>(fields, "shard")},
                        .epoch = Epoch{number_in(fields, "epoch")}};
  if (!fields.has("owner")) return shard;
  shard.owner = worker_id_in(fields, "owner");
  shard.lease_left = maybe_seconds_in(fields, "lease_left_seconds").value_or(Duration{});
  return shard;
}

std::optional<spi::ShardOwner> read_worker(Fields& fields, std::string_view name) {
  if (!fields.has(name)) return std::nullopt;
  return spi::ShardOwner{.owner = worker_id_in(fields, name)};
}

std::vector<WorkerId> workers_in(Fields& fields, std::string_view name) {
  std::vector<WorkerId> workers;
  for (const auto& text : texts_in(fields, name)) {
    auto worker = WorkerId::parse(text);
    if (worker.ok()) {
      workers.push_back(*worker);
    } else {
      fields.wrong(name, worker.error().message);
    }
  }
  return workers;
}

spi::Stray read_stray(Fields& fields) {
  return {.sequence = Sequence{number_in(fields, "sequence")},
          .id = message_id_in(fields, "id"),
          .why = text_in(fields, "why")};
}

Pause read_pause(Fields& fields) {
  return {.topic = fields.text("topic"),
          .actor = fields.text("actor"),  // missing for keys that are bound to a tenant
          .note = fields.text("note"),
          .since = time_in(fields, "since")};
}

}  // namespace

void put_members(JsonOut& json, const TableWork& work) {
  const auto& snapshot = work.snapshot;
  json.field("shards_owned", snapshot.shards_owned)
      .field("hot_depth", snapshot.hot_depth)
      .field("cold_depth", snapshot.cold_depth)
      .field("running", snapshot.running)
      .field("unsettled", snapshot.unsettled)
      .field("blocked_keys", snapshot.blocked_keys)
      .field("delivered", snapshot.delivered)
      .field("retried", snapshot.retried)
      .field("dead", snapshot.dead)
      .field("table_paused", snapshot.table_paused)
      .field("refused", snapshot.refused);
  put_array(json, "refused_messages", work.refused);
  json.field("unrouted", snapshot.unrouted_topics);
  put_array(json, "unrouted_topics", work.unrouted);
}

void put_members(JsonOut& json, const TableState& table) {
  json.field("table", table.table).field("store", table.store);
  if (table.stats) {
    put_members(json, *table.stats);
  } else {
    json.field("now", table.now);
  }
  if (table.last_sequence) json.field("last_sequence", table.last_sequence->value);
  if (!table.here) return;
  json.name("here");
  put(json, *table.here);
}

void put_members(JsonOut& json, std::span<const TableState> tables) {
  put_array(json, "tables", tables);
}

TableState read_table(Fields& fields) {
  TableState table{.table = text_in(fields, "table"),
                   .store = text_in(fields, "store"),
                   .now = time_in(fields, "now")};
  if (fields.has("pending")) table.stats = read_stats(fields);
  if (const auto last = maybe_number_in(fields, "last_sequence")) {
    table.last_sequence = Sequence{*last};
  }
  if (fields.has("here")) table.here = object_in(fields, "here", read_work);
  return table;
}

void put_members(JsonOut& json, const spi::TableStats& stats) {
  json.field("pending", stats.pending)
      .field("pending_estimated", stats.estimated)
      .field("waiting", stats.waiting)
      .field("done", stats.done)
      .field("done_estimated", stats.done_estimated)
      .field("dead", stats.dead)
      .field("dead_estimated", stats.dead_estimated)
      .field("quarantined", stats.quarantined)
      .field_if("oldest_pending", stats.oldest_pending)
      .field("now", stats.now);
  if (stats.oldest_transaction) {
    json.field("oldest_transaction_seconds", seconds(*stats.oldest_transaction));
  }
  json.field_if("slot_transactions", stats.slot_transactions);
}

void put_members(JsonOut& json, const RefusedResult& refused) {
  json.field("id", refused.id.view())
      .field("sequence", refused.sequence.value)
      .field("delivered", refused.delivered)
      .field("code", code_name(refused.code))
      .field("error", refused.error);
}

void put_members(JsonOut& json, const UnroutedTopic& topic) {
  json.field("aggregate_type", topic.aggregate_type)
      .field("topic", topic.topic)
      .field("since", topic.since)
      .field("until", topic.until);
}

void put_members(JsonOut& json, const spi::ShardOwner& shard) {
  json.field("shard", shard.shard.value).field("epoch", shard.epoch.value);
  if (shard.owner.empty()) return;
  json.field("owner", shard.owner.view()).field("lease_left_seconds", seconds(shard.lease_left));
}

void put_members(JsonOut& json, const admin::TableOwners& owners) {
  put_array(json, "live", owners.relays.live, [&](const auto& id) { json.value(id.view()); });
  put_array(json, "shards", owners.relays.shards);
  if (owners.replayer) json.field("replayer", owners.replayer->owner.view());
  if (owners.purger) json.field("purger", owners.purger->owner.view());
}

admin::TableOwners read_owners(Fields& fields) {
  admin::TableOwners owners;
  owners.relays.live = workers_in(fields, "live");
  owners.relays.shards = list_in(fields, "shards", read_shard);
  owners.replayer = read_worker(fields, "replayer");
  owners.purger = read_worker(fields, "purger");
  return owners;
}

void put_members(JsonOut& json, const spi::Stray& stray) {
  json.field("sequence", stray.sequence.value).field("id", stray.id.view()).field("why", stray.why);
}

void put_members(JsonOut& json, std::span<const spi::Stray> strays) {
  put_array(json, "strays", strays);
}

std::vector<spi::Stray> read_strays(Fields& fields) {
  return list_in(fields, "strays", read_stray);
}

void put_members(JsonOut& json, const Pause& pause) {
  json.field_if("topic", pause.topic)
      .field_if("actor", pause.actor)
      .field_if("note", pause.note)
      .field("since", pause.since);
}

void put_members(JsonOut& json, std::span<const Pause> pauses) {
  put_array(json, "pauses", pauses);
}

std::vector<Pause> read_pauses(Fields& fields) { return list_in(fields, "pauses", read_pause); }

void put_members(JsonOut& json, const PauseChange& change) {
  json.field("table", change.table.str())
      .field_if("topic", change.topic)
      .field("paused", change.paused)
      .field("changed", change.changed);
}

bool read_changed(Fields& fields) { return flag_in(fields, "changed"); }

void put_members(JsonOut& json, const TableName& table, const PurgeOrder& order,
                 const Purged& purged) {
  json.field("table", table.str())
      .field("state", state_name(order.state))
      .field("dry_run", order.dry_run)
      .field("rows", purged.rows)
      .field("more", purged.stopped);
}

Purged read_purged(Fields& fields) { return {number_in(fields, "rows"), flag_in(fields, "more")}; }

void put_members(JsonOut& json, const TableName& table, MessageState state, std::uint64_t count) {
  json.field("table", table.str()).field("state", state_name(state)).field("count", count);
}

std::uint64_t read_count(Fields& fields) { return number_in(fields, "count"); }

}  // namespace sagabox::wire
