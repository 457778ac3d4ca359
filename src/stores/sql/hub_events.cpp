#include "stores/sql/hub_events.hpp"

#include "core/headers_text.hpp"
#include "core/stored_message.hpp"
#include "spi/hub_rules.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace sagabox::sql {
namespace {

using EventList = std::vector<const HubEvent*>;
using ExternalKey = std::tuple<std::string, std::string, std::string>;

ExternalKey external_key(const HubEvent& event) {
  return {event.message->tenant(), event.source, event.external_id};
}

spi::KnownEvent known_from(const HubEvent& event) {
  const auto& message = *event.message;
  return {.id = event.id,
          .tenant = message.tenant(),
          .source = event.source,
          .external_id = event.external_id,
          .type = message.topic(),
          .digest = message.digest()};
}

spi::KnownEvent known_from(const Row& row) {
  return {.id = hub_id<EventId>(row.text(0)),
          .tenant = row.text(1),
          .source = row.text(2),
          .external_id = row.text(3),
          .type = row.text(4),
          .digest = digest_of(row.text(5))};
}

bool is_of(const spi::KnownEvent& known, const HubEvent& event) {
  if (known.id == event.id) return true;
  return !event.external_id.empty() && known.external_id == event.external_id &&
         known.source == event.source && known.tenant == event.message->tenant();
}

/// The first of each event of a call; those that repeat one of them, with it.
struct Firsts {
  EventList firsts;
  std::vector<std::pair<const HubEvent*, const HubEvent*>> repeated;
  std::map<const HubEvent*, const HubEvent*> first_of;

  Status add(const HubEvent& event) {
    const auto* first = known(event);
    if (first == nullptr) {
      firsts.push_back(&event);
      ids_.emplace(event.id, &event);
      if (!event.external_id.empty()) external_.emplace(external_key(event), &event);
      return {};
    }
    first_of.emplace(&event, first);
    return spi::check_repeated(event, known_from(*first));
  }

 private:
  const HubEvent* known(const HubEvent& event) const {
    if (const auto same = ids_.find(event.id); same != ids_.end()) return same->second;
    if (event.external_id.empty()) return nullptr;
    const auto same = external_.find(external_key(event));
    return same == external_.end() ? nullptr : same->second;
  }

  std::map<EventId, const HubEvent*> ids_;
  std::map<ExternalKey, const HubEvent*> external_;
};

/// Makes the reply of a read out of rows in the order of the ranges; of each range there may be one
/// more than was asked for.
class EventPages {
 public:
  EventPages(std::span<const spi::FeedRange> ranges, std::size_t bytes_max)
      : ranges_(ranges), bytes_max_(bytes_max) {}

  /// `number`: of the range, from 1.
  void add(std::size_t number, HubEvent event, std::size_t bytes) {
    if (full_ || number > ranges_.size()) return;
    reply_.parts.resize(std::max(reply_.parts.size(), number), {0, true});
    auto& part = reply_.parts[number - 1];
    const bool fits = reply_.rows.empty() || bytes_ + bytes <= bytes_max_;
    const bool wanted = part.rows < ranges_[number - 1].rows_max;
    part.exhausted = wanted && fits;
    full_ = wanted && !fits;
    if (!part.exhausted) return;
    bytes_ += bytes;
    reply_.rows.push_back(std::move(event));
    ++part.rows;
  }

  spi::FeedReply<HubEvent> finish() {
    if (!full_) reply_.parts.resize(ranges_.size(), {0, true});
    return std::move(reply_);
  }

 private:
  std::span<const spi::FeedRange> ranges_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  bool full_ = false;
  spi::FeedReply<HubEvent> reply_;
};

}  // namespace

HubPublishStatements::HubPublishStatements(Sections& sections)
    : publish(sections.take("hub_publish")),
      known(sections.take("hub_known")),
      unpublish(sections.take("hub_unpublish")) {}

Result<Rows> TransactionEvents::insert(Session& session,
                                       std::span<const HubEvent* const> events) const {
  std::vector<std::string> ids, tenants, sources, external, types, keys, aggregates, aggregate_ids,
      content_types, headers, parents, states, requests, correlations;
  std::vector<std::int64_t> is_json, priorities, shards;
  std::vector<Bytes> digests, payloads;
  std::vector<WallTime> times;
  for (const auto* event : events) {
    const auto& message = *event->message;
    ids.push_back(event->id.str());
    tenants.push_back(message.tenant());
    sources.push_back(event->source);
    external.push_back(event->external_id);
    types.push_back(message.topic());
    keys.push_back(message.key());
    is_json.push_back(message.payload().form() == PayloadForm::json ? 1 : 0);
    digests.emplace_back(bytes_of(message.digest()));
    aggregates.push_back(message.aggregate_type());
    aggregate_ids.push_back(message.aggregate_id());
    priorities.push_back(static_cast<std::int64_t>(message.priority()));
    content_types.push_back(message.content_type());
    headers.push_back(message.headers().empty() ? std::string() : headers_text(message.headers()));
    times.push_back(message.occurred_at());
    parents.push_back(message.trace().traceparent);
    states.push_back(message.trace().tracestate);
    requests.push_back(message.trace().request_id);
    correlations.push_back(message.trace().correlation_id);
    payloads.emplace_back(message.payload().view());
    shards.push_back(spi::event_shard(*event, shards_).value);
  }
  const auto now = clock_ == nullptr ? std::nullopt : std::optional(clock_->wall_now());
  return session.run(statements_->publish,
                     {std::move(ids),           std::move(tenants),    std::move(sources),
                      std::move(external),      std::move(types),      std::move(keys),
                      std::move(is_json),       std::move(digests),    std::move(aggregates),
                      std::move(aggregate_ids), std::move(priorities), std::move(content_types),
                      std::move(headers),       std::move(times),      std::move(parents),
                      std::move(states),        std::move(requests),   std::move(correlations),
                      std::move(payloads),      std::move(shards),     now});
}

Result<Rows> TransactionEvents::look(Session& session,
                                     std::span<const HubEvent* const> events) const {
  std::vector<std::string> ids, tenants, sources, external;
  for (const auto* event : events) {
    ids.push_back(event->id.str());
    tenants.push_back(event->message->tenant());
    sources.push_back(event->source);
    external.push_back(event->external_id);
  }
  return session.run(statements_->known, {std::move(ids), std::move(tenants), std::move(sources),
                                          std::move(external), by_element(events.size())});
}

Result<std::vector<Published>> TransactionEvents::publish(std::span<const HubEvent> events) {
  Firsts call;
  for (const auto& event : events) {
    if (auto valid = spi::check_event(event); !valid.ok()) return valid.error();
    if (auto same = call.add(event); !same.ok()) return same.error();
  }
  auto session = open_();
  if (!session.ok()) return session.error();
  if (events.empty()) return std::vector<Published>();
  auto inserted = insert(**session, call.firsts);
  if (!inserted.ok()) return inserted.error();
  std::map<const HubEvent*, Published> became;
  std::set<EventId> fresh;
  for (const auto row : *inserted) fresh.insert(hub_id<EventId>(row.text(0)));
  EventList others;
  for (const auto* event : call.firsts) {
    if (fresh.contains(event->id)) {
      became[event] = {.id = event->id};
    } else {
      others.push_back(event);
    }
  }
  const auto undo = [&](Error error) {
    const std::vector<EventId> ids(fresh.begin(), fresh.end());
    if (!ids.empty()) {
      (void)(*session)->run(statements_->unpublish, {id_texts<EventId>(ids)});
    }
    return error;
  };
  if (!others.empty()) {
    auto rows = look(**session, others);
    if (!rows.ok()) return undo(rows.error());
    for (const auto* event : others) {
      for (const auto row : *rows) {
        const auto known = known_from(row);
        if (!is_of(known, *event)) continue;
        if (auto same = spi::check_repeated(*event, known); !same.ok()) return undo(same.error());
        became[event] = {.id = known.id, .duplicate = true};
      }
      if (!became.contains(event)) {
        return undo({Code::storage_conflict,
                     "an event was published and removed at the same moment; try again"});
      }
    }
  }
  std::vector<Published> answers;
  for (const auto& event : events) {
    const auto repeated = call.first_of.find(&event);
    if (repeated == call.first_of.end()) {
      answers.push_back(became.at(&event));
    } else {
      answers.push_back({.id = became.at(repeated->second).id, .duplicate = true});
    }
  }
  if (told_) told_();
  return answers;
}

HubEventStore::HubEventStore(Sections& sections, const HubParts& parts)
    : parts_(parts),
      fences_(sections),
      made_(sections.take("hub_made")),
      shards_(sections.take("hub_shards")),
      read_(sections.take("hub_read")),
      draw_transaction_(sections.take("hub_draw_transaction")),
      changed_(sections.take("hub_changed")),
      positions_(sections.take("hub_positions")),
      move_(sections.take("hub_move")) {}

Status HubEventStore::prepare() {
  if (auto made = parts_.prepare(); !made.ok()) return made;
  auto rows = parts_.read(shards_, {});
  if (!rows.ok()) return rows.error();
  const auto shards = rows->empty() ? 0 : rows->front().integer(0);
  if (shards == parts_.capabilities.shards) return {};
  return Error{Code::config_invalid,
               "the tables of the hub were made for " + std::to_string(shards) + " shards, not " +
                   std::to_string(parts_.capabilities.shards) + "; open the store with this count"};
}

Result<spi::FeedReply<HubEvent>> HubEventStore::read_once(std::span<const spi::FeedRange> ranges,
                                                          std::size_t bytes_max) {
  std::vector<std::int64_t> shards, after, rows_max;
  for (const auto& range : ranges) {
    shards.push_back(range.shard.value);
    after.push_back(static_cast<std::int64_t>(range.after.value));
    rows_max.push_back(range.rows_max);
  }
  auto session = parts_.sessions.reader();
  if (!session.ok()) return session.error();
  auto rows =
      (*session)->run(read_, {std::move(shards), std::move(after), std::move(rows_max), bytes_max});
  if (!rows.ok()) return rows.error();
  EventPages pages(ranges, bytes_max);
  std::optional<spi::Horizon> horizon;
  constexpr int event_column = 4;
  constexpr int payload_column = event_column + hub_event_columns - 1;
  for (const auto row : *rows) {
    if (row.integer(0) != 0) {
      pages.add(row.natural(0), hub_event(row, event_column), row.text(payload_column).size());
    } else if (parts_.horizon != nullptr) {
      horizon = parts_.horizon(row);
    }
  }
  auto reply = pages.finish();
  reply.horizon = std::move(horizon);
  reply.timeline = (*session)->timeline();
  return reply;
}

Result<spi::RoutingReply> HubEventStore::read(std::span<const spi::FeedRange> ranges,
                                              std::size_t bytes_max,
                                              std::uint64_t subscriptions_after) {
  spi::RoutingReply reply;
  auto events = read_once(ranges, bytes_max);
  if (events.ok() && parts_.horizon != nullptr && !events->horizon) {
    auto drawn = parts_.read(draw_transaction_, {});
    if (!drawn.ok()) return drawn.error();
    events = read_once(ranges, bytes_max);
    if (events.ok() && !events->horizon) {
      return Error{Code::storage_unavailable,
                   "more transactions began during one read than it can name; try again"};
    }
  }
  if (!events.ok()) return events.error();
  reply.events = std::move(events).value();
  if (parts_.looked) parts_.looked(*reply.events.horizon, reply.events.rows.size());
  auto changed = parts_.read(changed_, {subscriptions_after, parts_.now()});
  if (!changed.ok()) return changed.error();
  for (const auto row : *changed) reply.changed.push_back(hub_subscription(row));
  return reply;
}

Result<std::vector<spi::RoutingPosition>> HubEventStore::positions(std::span<const Shard> shards) {
  std::vector<std::int64_t> numbers;
  for (const auto shard : shards) numbers.push_back(shard.value);
  auto rows = parts_.read(positions_, {std::move(numbers)});
  if (!rows.ok()) return rows.error();
  std::map<std::int64_t, Sequence> stored;
  for (const auto row : *rows) stored[row.integer(0)] = Sequence{row.natural(1)};
  std::vector<spi::RoutingPosition> positions;
  for (const auto shard : shards) positions.push_back({shard, stored[shard.value]});
  return positions;
}

Result<std::vector<bool>> HubEventStore::move(const spi::Fencing& fencing,
                                              std::span<const spi::RoutingPosition> positions) {
  if (auto valid = spi::check_moves(fencing, positions); !valid.ok()) return valid.error();
  std::vector<std::int64_t> shards, sequences;
  for (const auto& position : positions) {
    shards.push_back(position.shard.value);
    sequences.push_back(static_cast<std::int64_t>(position.position.value));
  }
  return fences_.run(parts_, fencing, [&](Session& session) -> Status {
    auto done =
        session.run(move_, {std::move(shards), std::move(sequences), by_element(positions.size())});
    return done.ok() ? Status() : done.error();
  });
}

}  // namespace sagabox::sql
