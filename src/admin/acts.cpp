#include "admin/checks.hpp"
#include "core/same_id.hpp"
#include "core/text.hpp"
#include "observe/audit_events.hpp"
#include "observe/metric_names.hpp"

#include <sagabox/admin.hpp>

#include <unordered_set>
#include <utility>

namespace sagabox {
namespace {

using spi::Move;

/// The words for a move in texts.
struct MoveWords {
  AuditKind kind;
  std::string_view done;     ///< for a message that moved
  std::string_view allowed;  ///< the states that allow the move
  std::string_view line;     ///< the name in the log
  std::string_view stays;    ///< the state of a message that did not move because its id is pending
};

MoveWords words(Move move) {
  switch (move) {
    case Move::replay:
      return {AuditKind::replayed, "is pending again",
              "only dead, quarantined or done messages can be replayed", "messages replayed",
              "as it is"};
    case Move::quarantine:
      return {AuditKind::quarantined,
              "is quarantined",
              "only pending or dead messages can be quarantined",
              "messages quarantined",
              {}};
    case Move::release:
      break;
  }
  return {AuditKind::released, "is pending again", "only quarantined messages can be released",
          "messages released", "quarantined"};
}

Status check_ids(std::span<const MessageId> ids, std::span<const Sequence> sequences) {
  if (ids.empty() || ids.size() > Admin::ids_max) {
    return admin::wrong("ids: " + std::to_string(ids.size()) + " given; give 1 to " +
                        std::to_string(Admin::ids_max));
  }
  if (!sequences.empty() && sequences.size() != ids.size()) {
    return admin::wrong("sequences: " + std::to_string(sequences.size()) + " given for " +
                        std::to_string(ids.size()) + " ids; give one for each id, or none");
  }
  std::unordered_set<MessageId> seen;
  for (const auto& id : ids) {
    if (!seen.insert(id).second) {
      return admin::wrong("ids: " + quoted(id.view()) + " is given twice; give each once");
    }
  }
  return {};
}

/// Checks a note that may be omitted.
Status check_remark(const std::string& note) {
  if (note.empty()) return {};
  return admin::check_text("note", note, Admin::note_length_max);
}

Moved outcome(const MessageId& id, const spi::MoveReply::Item& item, Move move) {
  Moved moved{.id = id, .was = item.was, .moved = item.moved, .unclear = !item.tenants.empty()};
  if (moved.unclear) {
    moved.text = several_tenants_text(item.tenants);
  } else if (!item.was) {
    moved.text = "is not there";
  } else if (item.moved) {
    moved.text = words(move).done;
  } else if (item.id_is_pending) {
    moved.text = "is pending: an earlier message of this id stays " +
                 std::string(words(move).stays) + " until the pending one has ended";
  } else {
    moved.text =
        "is " + std::string(state_name(*item.was)) + ": " + std::string(words(move).allowed);
  }
  return moved;
}

}  // namespace

struct Admin::MoveOrder {
  const TableName& table;
  Move move;
  std::span<const MessageId> ids;
  std::string note{};
  Whose tenant{};
  std::span<const Sequence> sequences{};
  bool as_new = false;
};

Admin::Records Admin::records_of(const MoveOrder& order) const {
  Records records;
  const auto whose = limited(order.tenant);
  if (!whose.ok()) return records;
  for (std::size_t at = 0; at < order.ids.size(); ++at) {
    const auto& id = order.ids[at];
    spi::FindRequest wanted{.table = order.table, .id = id, .tenant = *whose, .with_payload = true};
    if (!order.sequences.empty()) wanted.sequence = order.sequences[at];
    auto record = store_->outbox_admin().find(wanted);
    // Without it the event has fewer details; the act continues, and the store's own audit log is
    // complete.
    if (!record.ok() || !*record) {
      records[id].id = id;
    } else {
      records[id] = **std::move(record);
    }
  }
  return records;
}

Result<std::vector<Moved>> Admin::move(const MoveOrder& order) {
  if (auto ids = check_ids(order.ids, order.sequences); !ids.ok()) return ids.error();
  auto whose = limited(order.tenant);
  if (!whose.ok()) return whose.error();
  const MoveWords said = words(order.move);
  const auto before = options_.audit->wants(said.kind) ? records_of(order) : Records{};
  auto reply = store_->outbox_admin().move({.table = order.table,
                                            .move = order.move,
                                            .ids = order.ids,
                                            .tenant = *std::move(whose),
                                            .actor = options_.actor,
                                            .note = order.note,
                                            .sequences = order.sequences,
                                            .as_new = order.as_new});
  if (!reply.ok()) return reply.error();

  std::vector<Moved> outcomes;
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < order.ids.size(); ++at) {
    outcomes.push_back(outcome(order.ids[at], reply->items.at(at), order.move));
    if (!outcomes.back().moved) continue;
    ++count;
    if (const auto was = before.find(order.ids[at]); was != before.end()) {
      const MessageRecord& record = was->second;
      tell(operator_event(said.kind,
                          {order.table, record.id, record.message.get(), record.attempts},
                          options_.actor, order.note, options_.clock->wall_now()));
    }
  }
  if (order.move == Move::replay && count > 0) {
    options_.metrics->counter(metric::replay_total, {{"kind", "outbox"}})
        .add(static_cast<double>(count));
  }
  options_.log->log(LogLevel::info, said.line,
                    {{"table", std::string_view(order.table.str())},
                     {"actor", std::string_view(options_.actor)},
                     {"asked", std::uint64_t{order.ids.size()}},
                     {"moved", count}});
  return outcomes;
}

Result<std::vector<Moved>> Admin::replay(const TableName& table, std::span<const MessageId> ids,
                                         const Whose& tenant, std::span<const Sequence> sequences,
                                         bool as_new) {
  return move({table, Move::replay, ids, as_new ? "as new" : "", tenant, sequences, as_new});
}

Result<std::vector<Moved>> Admin::quarantine(const TableName& table, std::span<const MessageId> ids,
                                             const std::string& note, const Whose& tenant,
                                             std::span<const Sequence> sequences) {
  if (auto status = admin::check_text("note", note, note_length_max); !status.ok()) {
    return status.error();
  }
  return move({table, Move::quarantine, ids, note, tenant, sequences});
}

Result<std::vector<Moved>> Admin::release(const TableName& table, std::span<const MessageId> ids,
                                          const Whose& tenant,
                                          std::span<const Sequence> sequences) {
  return move({table, Move::release, ids, {}, tenant, sequences});
}

Result<bool> Admin::set_pause(const spi::PauseRequest& request) {
  if (auto status = everybodys(request.paused ? "a pause" : "the end of a pause"); !status.ok()) {
    return status.error();
  }
  auto changed = store_->control().set_pause(request);
  if (!changed.ok() || !*changed) return changed;
  tell(pause_event(request.table, request.topic, request.paused, request.actor, request.note,
                   options_.clock->wall_now()));
  options_.log->log(LogLevel::info, request.paused ? "deliveries paused" : "deliveries resumed",
                    {{"table", std::string_view(request.table.str())},
                     {"topic", std::string_view(request.topic)},
                     {"actor", std::string_view(request.actor)}});
  return changed;
}

Result<bool> Admin::pause_table(const TableName& table, const std::string& note) {
  if (auto status = check_remark(note); !status.ok()) return status.error();
  return set_pause({.table = table, .paused = true, .actor = options_.actor, .note = note});
}

Result<bool> Admin::pause_topic(const TableName& table, const std::string& topic,
                                const std::string& note) {
  auto status = admin::check_text("topic", topic, MessageRules::topic_length_max);
  if (status.ok()) status = check_remark(note);
  if (!status.ok()) return status.error();
  return set_pause(
      {.table = table, .topic = topic, .paused = true, .actor = options_.actor, .note = note});
}

Result<bool> Admin::resume_table(const TableName& table) {
  return set_pause({.table = table, .paused = false, .actor = options_.actor});
}

Result<bool> Admin::resume_topic(const TableName& table, const std::string& topic) {
  const auto status = admin::check_text("topic", topic, MessageRules::topic_length_max);
  if (!status.ok()) return status.error();
  return set_pause({.table = table, .topic = topic, .paused = false, .actor = options_.actor});
}

Result<std::vector<Pause>> Admin::pauses(const TableName& table) const {
  auto controls = store_->control().controls(table);
  if (!controls.ok()) return controls.error();
  if (options_.tenant) {
    for (auto& pause : controls->pauses) pause.actor = pause.note = {};
  }
  return std::move(controls->pauses);
}

}  // namespace sagabox
