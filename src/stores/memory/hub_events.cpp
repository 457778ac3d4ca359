#include "spi/hub_rules.hpp"
#include "stores/memory/database.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::memory {
namespace {

Error events_aborted() {
  return {Code::storage_unavailable,
          "the transaction was aborted by a fail-over; roll back and begin again"};
}

bool repeats(const HubEvent& event, const HubEvent& known) {
  if (event.id == known.id) return true;
  return !event.external_id.empty() && event.external_id == known.external_id &&
         event.source == known.source && event.message->tenant() == known.message->tenant();
}

/// The same message with the event's id.
std::shared_ptr<const Message> as_event(const Message& message, const EventId& id) {
  NewMessage fields{.topic = message.topic(),
                    .key = message.key(),
                    .payload = message.payload(),
                    .tenant = message.tenant(),
                    .aggregate_type = message.aggregate_type(),
                    .aggregate_id = message.aggregate_id(),
                    .priority = message.priority(),
                    .content_type = message.content_type(),
                    .headers = message.headers(),
                    .occurred_at = message.occurred_at(),
                    .not_before = message.not_before(),
                    .trace = message.trace()};
  return std::make_shared<const Message>(
      Message::restore({.id = MessageId::parse(id.view()).value(),
                        .fields = std::move(fields),
                        .digest = message.digest()}));
}

}  // namespace

spi::Capabilities HubEvents::capabilities() const { return database_.capabilities(); }

Result<std::optional<Published>> HubEvents::repeated(const OpenTransaction& transaction,
                                                     const HubEvent& event) const {
  const HubEvent* known = database_.state_.hub.events.known(event);
  for (const auto& open : database_.open_) {
    for (const auto& other : open->events) {
      if (known != nullptr || !repeats(event, other)) continue;
      if (open.get() != &transaction) {
        return Error{Code::storage_conflict,
                     "another open transaction publishes the same event; try again when it has "
                     "ended"};
      }
      known = &other;
    }
  }
  if (known == nullptr) return std::optional<Published>();
  const auto status = spi::check_repeated(event, {.id = known->id,
                                                  .tenant = known->message->tenant(),
                                                  .source = known->source,
                                                  .external_id = known->external_id,
                                                  .type = known->message->topic(),
                                                  .digest = known->message->digest()});
  if (!status) return status.error();
  return std::optional(Published{.id = known->id, .duplicate = true});
}

Result<std::vector<Published>> HubEvents::publish(OpenTransaction& transaction,
                                                  std::span<const HubEvent> events) {
  using Answers = std::vector<Published>;
  for (const auto& event : events) {
    if (auto valid = spi::check_event(event); !valid.ok()) return valid.error();
  }
  return database_.faulty(Operation::hub_publish, [&]() -> Result<Answers> {
    const std::lock_guard lock(database_.mutex_);
    if (transaction.aborted) return events_aborted();
    Answers answers;
    if (events.empty()) return answers;
    if (auto busy = database_.other_writer(&transaction)) return *std::move(busy);
    const auto before = transaction.events.size();
    const auto undo = [&](Error error) {
      transaction.events.resize(before);
      return error;
    };
    for (const auto& event : events) {
      auto known = repeated(transaction, event);
      if (!known.ok()) return undo(known.error());
      if (*known) {
        answers.push_back(**known);
        continue;
      }
      auto& written = transaction.events.emplace_back(event);
      written.message = as_event(*event.message, event.id);
      written.sequence = Sequence{database_.state_.hub.next_event++};
      written.shard = spi::event_shard(event, database_.options_.shards);
      written.published_at = database_.now();
      answers.push_back({.id = event.id});
    }
    if (database_.options_.late_commits == spi::LateCommits::none) database_.writer_ = &transaction;
    return answers;
  });
}

Result<spi::RoutingReply> HubEvents::read(std::span<const spi::FeedRange> ranges,
                                          std::size_t bytes_max,
                                          std::uint64_t subscriptions_after) {
  return database_.faulty(Operation::hub_read, [&]() -> Result<spi::RoutingReply> {
    spi::RoutingReply reply;
    ReadBudget budget(bytes_max);
    const std::lock_guard lock(database_.mutex_);
    const auto& hub = database_.state_.hub;
    for (const auto& range : ranges) {
      auto& part = reply.events.parts.emplace_back();
      part.exhausted = true;
      const auto* feed = hub.events.feed(range.shard);
      if (feed == nullptr) continue;
      for (auto at = feed->upper_bound(range.after); at != feed->end(); ++at) {
        const HubEvent& event = *hub.events.find(at->second);
        part.exhausted = part.rows < range.rows_max && budget.admit(event.message->bytes());
        if (!part.exhausted) break;
        reply.events.rows.push_back(event);
        ++part.rows;
      }
      if (budget.spent()) break;
    }
    reply.events.horizon = database_.horizon();
    reply.events.timeline = database_.timeline_;
    reply.changed =
        hub.changed_after(subscriptions_after, database_.now() - spi::disabled_kept_for);
    return reply;
  });
}

Result<std::vector<spi::RoutingPosition>> HubEvents::positions(std::span<const Shard> shards) {
  using Positions = std::vector<spi::RoutingPosition>;
  return database_.faulty(Operation::hub_read, [&]() -> Result<Positions> {
    Positions positions;
    const std::lock_guard lock(database_.mutex_);
    for (const auto shard : shards) {
      positions.push_back({shard, database_.state_.hub.events.position(shard)});
    }
    return positions;
  });
}

Result<std::vector<bool>> HubEvents::move(const spi::Fencing& fencing,
                                          std::span<const spi::RoutingPosition> positions) {
  if (auto valid = spi::check_moves(fencing, positions); !valid.ok()) return valid.error();
  return database_.faulty(Operation::hub_move, [&]() -> Result<std::vector<bool>> {
    const std::lock_guard lock(database_.mutex_);
    auto held = database_.held(fencing);
    if (std::ranges::find(held, false) != held.end()) return held;
    for (const auto& position : positions) database_.state_.hub.events.move(position);
    return held;
  });
}

void HubEvents::wait(Duration timeout) { database_.signal(hub_events_signal).wait(timeout); }
void HubEvents::wake() { database_.signal(hub_events_signal).notify(); }

}  // namespace sagabox::memory
