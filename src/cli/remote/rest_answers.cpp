#include "cli/remote/rest_answers.hpp"

#include "cli/remote/answer_records.hpp"

#include <utility>

namespace sagabox::cli::answers {
namespace {

/// Reads a whole answer with `read`, which notes what is wrong in the fields.
template <class Read>
auto whole(std::string_view body, Read read) -> Result<decltype(read(std::declval<Fields&>()))> {
  auto fields = Fields::parse(body, {}, server::Nulls::left_out);
  if (!fields.ok()) return fields.error();
  auto value = read(*fields);
  if (auto status = fields->status_of_known(); !status.ok()) return status.error();
  return value;
}

ServedStore store_in(Fields& fields) {
  ServedStore store{.name = text_in(fields, "store"), .current = flag_in(fields, "current")};
  for (const auto& name : texts_in(fields, "tables")) {
    auto parsed = TableName::parse(name);
    if (parsed.ok()) {
      store.tables.push_back(*std::move(parsed));
    } else {
      fields.wrong("tables", parsed.error().message);
    }
  }
  return store;
}

RefusedResult refused_in(Fields& fields) {
  return {.id = message_id_in(fields, "id"),
          .sequence = Sequence{number_in(fields, "sequence")},
          .delivered = flag_in(fields, "delivered"),
          .code = code_from_name(text_in(fields, "code")),
          .error = fields.text("error")};
}

/// Older daemons do not tell.
admin::RefusedFacts refused_here(Fields& here) {
  admin::RefusedFacts refused{.count = maybe_number_in(here, "refused").value_or(0)};
  if (here.has("refused_messages")) {
    refused.first = list_in(here, "refused_messages", refused_in);
  }
  return refused;
}

Table table_in(Fields& fields) {
  Table table{.now = time_in(fields, "now")};
  if (const auto last = maybe_number_in(fields, "last_sequence")) {
    table.last_sequence = Sequence{*last};
  }
  if (!fields.has("pending")) return table;
  spi::TableStats stats;
  stats.pending = number_in(fields, "pending");
  stats.waiting = number_in(fields, "waiting");
  stats.done = number_in(fields, "done");
  stats.dead = number_in(fields, "dead");
  stats.quarantined = number_in(fields, "quarantined");
  stats.oldest_pending = fields.time("oldest_pending");
  stats.estimated = fields.flag("pending_estimated");
  stats.now = table.now;
  stats.oldest_transaction = maybe_seconds_in(fields, "oldest_transaction_seconds");
  stats.slot_transactions = maybe_number_in(fields, "slot_transactions");
  table.stats = stats;
  if (fields.has("here")) table.refused = object_in(fields, "here", refused_here);
  return table;
}

std::optional<spi::ShardOwner> worker_in(Fields& fields, std::string_view name) {
  if (!fields.has(name)) return std::nullopt;
  return spi::ShardOwner{.owner = worker_id_in(fields, name)};
}

Owners owners_in(Fields& fields) {
  Owners owners;
  for (const auto& name : texts_in(fields, "live")) {
    auto worker = WorkerId::parse(name);
    if (worker.ok()) {
      owners.relays.live.push_back(*worker);
    } else {
      fields.wrong("live", worker.error().message);
    }
  }
  owners.relays.shards = list_in(fields, "shards", [](Fields& shard) {
    spi::ShardOwner owner{.shard = Shard{small_in<std::uint16_t>(shard, "shard")},
                          .epoch = Epoch{number_in(shard, "epoch")}};
    if (!shard.has("owner")) return owner;
    owner.owner = worker_id_in(shard, "owner");
    owner.lease_left = maybe_seconds_in(shard, "lease_left_seconds").value_or(Duration{});
    return owner;
  });
  owners.replayer = worker_in(fields, "replayer");
  owners.purger = worker_in(fields, "purger");
  return owners;
}

Explanation explanation_in(Fields& fields) {
  Explanation explanation{.state = text_in(fields, "state"),
                          .owner = fields.text("owner"),
                          .next = fields.text("next")};
  explanation.reasons = list_in(fields, "reasons", [](Fields& reason) {
    // What a newer daemon knows and we do not is still told in its own words.
    return Reason{.why = why_from_name(text_in(reason, "why")).value_or(Why::with_owner),
                  .text = text_in(reason, "text")};
  });
  if (explanation.reasons.empty()) fields.wrong("reasons", "there are none");
  return explanation;
}

BlockedKey blocked_key_in(Fields& fields) {
  BlockedKey key{.key = text_in(fields, "key")};
  key.behind = number_in(fields, "behind");
  key.more_behind = flag_in(fields, "more_behind");
  key.head = object_in(fields, "head", record_in);
  return key;
}

DestinationState destination_in(Fields& fields) {
  DestinationState state{.target = text_in(fields, "target"), .down = flag_in(fields, "down")};
  state.down_for = maybe_seconds_in(fields, "down_seconds").value_or(Duration{});
  state.next_probe = maybe_seconds_in(fields, "next_probe_seconds").value_or(Duration{});
  state.under_way = small_in<std::uint32_t>(fields, "under_way");
  state.last_error = fields.text("last_error");
  return state;
}

Pause pause_in(Fields& fields) {
  return {.topic = fields.text("topic"),
          .actor = fields.text("actor"),  // not told to who is bound to a tenant
          .note = fields.text("note"),
          .since = time_in(fields, "since")};
}

spi::Finding finding_in(Fields& fields) {
  return {.severity = severity_in(fields, "severity"),
          .what = text_in(fields, "what"),
          .cure = fields.text("cure")};
}

spi::Stray stray_in(Fields& fields) {
  return {.sequence = Sequence{number_in(fields, "sequence")},
          .id = message_id_in(fields, "id"),
          .why = text_in(fields, "why")};
}

Moved moved_in(Fields& fields) {
  Moved moved{.id = message_id_in(fields, "id"),
              .moved = flag_in(fields, "moved"),
              .text = text_in(fields, "text")};
  if (fields.has("was")) moved.was = state_in(fields, "was");
  moved.unclear = fields.flag("unclear");
  return moved;
}

}  // namespace

Result<std::vector<ServedStore>> stores(std::string_view body) {
  return whole(body, [](Fields& fields) { return list_in(fields, "stores", store_in); });
}

Result<Table> table(std::string_view body) { return whole(body, table_in); }

Result<Owners> owners(std::string_view body) { return whole(body, owners_in); }

Result<MessagePage> page(std::string_view body) {
  return whole(body, [](Fields& fields) {
    return MessagePage{list_in(fields, "messages", record_in), fields.text("next")};
  });
}

Result<MessageRecord> message(std::string_view body) { return whole(body, record_in); }

Result<Explanation> explanation(std::string_view body) { return whole(body, explanation_in); }

Result<BlockedKeyPage> blocked_keys(std::string_view body) {
  return whole(body, [](Fields& fields) {
    return BlockedKeyPage{list_in(fields, "keys", blocked_key_in), fields.text("next")};
  });
}

Result<std::vector<spi::Stray>> strays(std::string_view body) {
  return whole(body, [](Fields& fields) { return list_in(fields, "strays", stray_in); });
}

Result<std::vector<Pause>> pauses(std::string_view body) {
  return whole(body, [](Fields& fields) { return list_in(fields, "pauses", pause_in); });
}

Result<std::vector<spi::Finding>> findings(std::string_view body) {
  return whole(body, [](Fields& fields) { return list_in(fields, "findings", finding_in); });
}

Result<std::vector<DestinationState>> destinations(std::string_view body) {
  return whole(body,
               [](Fields& fields) { return list_in(fields, "destinations", destination_in); });
}

Result<std::vector<spi::Finding>> readiness(std::string_view body) {
  return whole(body, [](Fields& fields) {
    std::vector<spi::Finding> found;
    (void)flag_in(fields, "ready");
    const auto read = [&](Fields& table) {
      const auto name = text_in(table, "table");
      const auto why = table.text("text");
      if (!flag_in(table, "ready")) {
        found.push_back({Severity::error, "the daemon is not ready: table " + name + ": " + why,
                         "sagabox status, and the daemon's log"});
      }
      return name;
    };
    (void)list_in(fields, "tables", read);
    return found;
  });
}

Result<std::uint64_t> count(std::string_view body) {
  return whole(body, [](Fields& fields) { return number_in(fields, "count"); });
}

Result<Written> written(std::string_view body) {
  return whole(body, [](Fields& fields) {
    if (fields.flag("suppressed")) {
      fields.fail({Code::provider_rejected, "a hook of the daemon kept it from being written"});
      return Written{};
    }
    return Written{.id = message_id_in(fields, "id"),
                   .sequence = Sequence{number_in(fields, "sequence")},
                   .shard = Shard{small_in<std::uint16_t>(fields, "shard")},
                   .duplicate = flag_in(fields, "duplicate")};
  });
}

Result<std::vector<Moved>> moved(std::string_view body) {
  return whole(body, [](Fields& fields) { return list_in(fields, "results", moved_in); });
}

Result<bool> pause_change(std::string_view body) {
  return whole(body, [](Fields& fields) { return flag_in(fields, "changed"); });
}

Result<PurgedPart> purged(std::string_view body) {
  return whole(body, [](Fields& fields) {
    return PurgedPart{number_in(fields, "rows"), flag_in(fields, "more")};
  });
}

Result<ReplayPreview> preview(std::string_view body) {
  return whole(body, [](Fields& fields) {
    return ReplayPreview{number_in(fields, "matched"), list_in(fields, "first", record_in)};
  });
}

Result<ReplayJob> job(std::string_view body) { return whole(body, job_in); }

Result<std::vector<ReplayJob>> jobs(std::string_view body) {
  return whole(body, [](Fields& fields) { return list_in(fields, "replays", job_in); });
}

Result<AuditReport> audit_report(std::string_view body) {
  return whole(body, [](Fields& fields) {
    AuditReport report{.entries = number_in(fields, "entries")};
    report.head = object_in(fields, "head", [](Fields& head) {
      return AuditHead{number_in(head, "number"), digest_in(head, "hash")};
    });
    report.problems_found = number_in(fields, "problems_found");
    report.problems = texts_in(fields, "problems");
    return report;
  });
}

std::optional<Error> problem(std::string_view body) {
  auto fields = Fields::parse(body, {}, server::Nulls::left_out);
  if (!fields.ok()) return std::nullopt;
  Error told{code_from_name(text_in(*fields, "code")), text_in(*fields, "detail")};
  if (!fields->status_of_known().ok()) return std::nullopt;
  return told;
}

}  // namespace sagabox::cli::answers
