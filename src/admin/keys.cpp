#include "admin/checks.hpp"
#include "admin/cursor.hpp"
#include "admin/explain.hpp"
#include "core/error_text.hpp"
#include "core/text.hpp"
#include "outbox/relay.hpp"

#include <sagabox/admin.hpp>

#include <utility>

namespace sagabox {
namespace {

constexpr std::uint32_t earlier_max = 100;
constexpr std::size_t earlier_shown_max = 5;

/// Whether later messages of its key wait for it. Delayed and released messages hold up nobody.
bool holds_its_place(const MessageRecord& record, bool heads_block) {
  return !record.due || (record.retrying && heads_block);
}

struct OfKey {
  std::vector<MessageRecord> rows;
  bool more = false;
};

/// Pending messages of a key that block later ones, among the first `rows_max`.
Result<OfKey> pending_of_key(Store& store, const TableName& table, MessageFilter filter,
                             std::uint32_t rows_max, bool heads_block = true) {
  auto reply = store.outbox_admin().list({.table = table,
                                          .state = MessageState::pending,
                                          .filter = std::move(filter),
                                          .rows_max = rows_max});
  if (!reply.ok()) return reply.error();
  OfKey found{std::move(reply->rows), !reply->exhausted};
  std::erase_if(found.rows,
                [&](const MessageRecord& row) { return !holds_its_place(row, heads_block); });
  return found;
}

/// Names of workers and notes of operators are hidden from callers bound to a tenant.
void hide_names(std::vector<spi::ShardOwner>& owners) {
  static const auto somebody = WorkerId::parse("relay").value();
  for (auto& owner : owners) {
    if (!owner.owner.empty()) owner.owner = somebody;
  }
}

/// Hides the targets of messages, and their last errors, which may be about another tenant.
void hide_targets(std::vector<HeldUp>& held_up) {
  for (auto& one : held_up) {
    if (one.by == HeldUp::By::no_route) continue;
    one.target = "of this topic";
    if (one.by == HeldUp::By::down) one.what.clear();
  }
}

/// The classes that a key may wait behind: one text for each, which names the target.
std::vector<std::string> behind_of(const OwnerView& view, const AdminOptions& options) {
  std::vector<std::string> texts;
  for (const auto& [topic, tenant] : view.key_behind) {
    if (options.tenant) return {"messages for another target"};
    const auto held_up = options.held_up ? options.held_up(topic, tenant) : std::vector<HeldUp>{};
    if (held_up.empty()) {
      texts.push_back("messages of topic " + quoted(topic));
      continue;
    }
    const auto& held = held_up.front();
    if (held.by == HeldUp::By::no_route) {
      texts.push_back("messages of topic " + quoted(topic) + ", which has no route");
      continue;
    }
    texts.push_back("target " + clean_error(held.target, 300) +
                    (held.by == HeldUp::By::down ? ", which is down" : ""));
  }
  return texts;
}

}  // namespace

Result<Explanation> Admin::explain(const TableName& table, const MessageId& id,
                                   const Whose& tenant) const {
  admin::MessageFacts facts;
  facts.table = table.str();
  facts.id = id;
  auto record = inspect(table, id, PayloadToo::no, tenant);
  if (!record.ok()) return record.error();
  facts.record = *std::move(record);

  const auto stats = store_->outbox_admin().stats(table);
  if (!stats.ok()) return stats.error();
  facts.now = stats->now;
  facts.oldest_transaction = stats->oldest_transaction;
  if (!facts.record) return admin::explain(facts);
  if (facts.record->state != MessageState::pending) return admin::explain(facts);

  auto paused = pauses(table);
  if (!paused.ok()) return paused.error();
  facts.pauses = std::move(*paused);
  auto census = store_->ownership().census(outbox::Relay::scope_of(table));
  if (!census.ok()) return census.error();
  facts.owners = std::move(census->shards);
  if (options_.tenant) hide_names(facts.owners);

  if (options_.held_up) {
    facts.held_up = options_.held_up(facts.record->topic, facts.record->tenant);
    if (options_.tenant) hide_targets(facts.held_up);
  }
  const Sequence sequence = facts.record->sequence;
  if (options_.refused) facts.refused = options_.refused(sequence);
  if (options_.owner_view) {
    facts.owner_view = options_.owner_view(*facts.record);
    if (facts.owner_view) facts.key_behind = behind_of(*facts.owner_view, options_);
  }
  if (!facts.record->key.empty() && sequence.value > 0) {
    const auto earlier =
        pending_of_key(*store_, table,
                       {.tenant = facts.record->tenant,
                        .key = facts.record->key,
                        .last = Sequence{sequence.value - 1}},
                       earlier_max, !facts.owner_view || facts.owner_view->heads_block);
    if (!earlier.ok()) return earlier.error();
    facts.earlier.count = earlier->rows.size();
    facts.earlier.more = earlier->more;
    for (const auto& row : earlier->rows) {
      if (facts.earlier.sequences.size() == earlier_shown_max) break;
      facts.earlier.sequences.push_back(row.sequence);
    }
  }
  return admin::explain(facts);
}

Result<spi::Census> Admin::owners(const TableName& table) const {
  if (auto allowed = everybodys("who delivers"); !allowed.ok()) return allowed.error();
  return store_->ownership().census(outbox::Relay::scope_of(table));
}

Result<BlockedKeyPage> Admin::blocked_keys(const TableName& table, std::uint32_t keys_max,
                                           const std::string& cursor) const {
  if (auto keys = admin::check_rows("keys_max", keys_max, page_rows_max); !keys.ok()) {
    return keys.error();
  }
  const MessageFilter retrying{.tenant = options_.tenant, .retrying = true};
  const auto mark = admin::list_mark(table, MessageState::pending, retrying);
  auto after = admin::cursor_place(mark, cursor);
  if (!after.ok()) return after.error();

  BlockedKeyPage page;
  for (bool exhausted = false; !exhausted && page.keys.size() < keys_max;) {
    auto reply = store_->outbox_admin().list(
        {.table = table,
         .state = MessageState::pending,
         .filter = retrying,
         .after = *after,
         .rows_max = keys_max - static_cast<std::uint32_t>(page.keys.size())});
    if (!reply.ok()) return reply.error();
    exhausted = reply->exhausted || reply->rows.empty();
    for (auto& head : reply->rows) {
      *after = head.sequence;
      if (head.key.empty()) continue;
      auto behind = pending_of_key(
          *store_, table,
          {.tenant = head.tenant, .key = head.key, .first = Sequence{head.sequence.value + 1}},
          BlockedKey::behind_max);
      if (!behind.ok()) return behind.error();
      BlockedKey blocked;
      blocked.key = head.key;
      blocked.head = std::move(head);
      blocked.behind = behind->rows.size();
      blocked.more_behind = behind->more;
      page.keys.push_back(std::move(blocked));
    }
    page.next = exhausted ? std::string() : admin::cursor_text(mark, *after);
  }
  return page;
}

}  // namespace sagabox
