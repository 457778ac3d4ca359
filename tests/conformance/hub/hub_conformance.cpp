#include "conformance/hub/hub_conformance.hpp"

#include "spi/hub_rules.hpp"

#include <algorithm>
#include <array>

namespace sagabox::conformance {

HubEvent HubConformance::event(std::string key, std::string payload, std::string tenant) {
  TraceContext trace;
  trace.correlation_id = "c-1";
  return {.id = ids_.next<EventId>(),
          .message = build({.topic = order_placed,
                            .key = std::move(key),
                            .payload = json(std::move(payload)),
                            .tenant = std::move(tenant),
                            .trace = trace})};
}

std::vector<Published> HubConformance::publish(const std::vector<HubEvent>& events) {
  return store()
      .transaction([&](OwnedTransaction& tx) { return tx.events().publish(events); })
      .value();
}

std::vector<HubEvent> HubConformance::read_events(Sequence after) {
  std::vector<spi::FeedRange> ranges;
  for (std::uint16_t s = 0; s < shards(); ++s) ranges.push_back({Shard{s}, after, 10'000});
  auto rows = events().read(ranges, bytes_unbounded, 0).value().events.rows;
  std::ranges::sort(rows, {}, &HubEvent::sequence);
  return rows;
}

spi::RoutingReply HubConformance::read_events_of(const spi::FeedRange& range, std::size_t bytes_max,
                                                 std::uint64_t subscriptions_after) {
  return events().read(std::span(&range, 1), bytes_max, subscriptions_after).value();
}

HubEvent HubConformance::stored_event(std::string key) {
  const auto published = publish(event(std::move(key)));
  return hub_admin().event(published.id).value().value();
}

Owner HubConformance::own_hub(const std::string& scope) {
  const std::vector<spi::Scope> scopes{scope};
  Owner owner{scope, ids_.next<WorkerId>(), {}};
  EXPECT_TRUE(ownership().join(owner.id, ttl, scopes, shards()).value().live);
  for (const auto& taken : ownership().take(scope, owner.id, shards()).value()) {
    owner.fences.push_back({taken.shard, taken.epoch});
  }
  std::ranges::sort(owner.fences, {}, &spi::Fence::shard);
  return owner;
}

SubscriptionRecord HubConformance::subscription(std::string_view id, SubscriptionState state) {
  SubscriptionRecord record;
  record.id = subscription_id(id);
  record.tenant = "acme";
  record.name = "name of " + std::string(id);
  record.state = state;
  record.types = {"shop.*.placed.v1", "shop.**"};
  record.target = "https://hooks.example.com/" + std::string(id);
  record.settings = R"({"order": "key", "headers": {"X-Shop": "süd"}})";
  return record;
}

SubscriptionRecord HubConformance::put(SubscriptionRecord record) {
  ++record.version;
  EXPECT_TRUE(subscriptions().write(record, {}).value());
  return subscriptions().get(record.id).value().value();
}

DeliveryRecord HubConformance::delivery_to(const HubEvent& event, std::string_view subscription,
                                           std::uint16_t shards, std::string key) {
  const auto id = subscription_id(subscription);
  DeliveryRecord record;
  record.id = delivery_id_of(event.id, id, 0);
  record.event = event.id;
  record.subscription = id;
  record.tenant = event.message->tenant();
  record.type = event.message->topic();
  record.key = std::move(key);
  record.shard = spi::delivery_shard(id, shards);
  record.correlation_id = event.message->trace().correlation_id;
  return record;
}

std::vector<DeliveryRecord> HubConformance::added(std::size_t count, std::string_view subscription,
                                                  const std::string& key) {
  std::vector<HubEvent> sent;
  for (std::size_t i = 0; i < count; ++i) sent.push_back(event(key));
  publish(sent);
  std::vector<DeliveryRecord> made;
  for (const auto& one : sent) made.push_back(delivery_to(one, subscription, shards(), key));
  EXPECT_EQ(deliveries().add(made).value(), count);
  for (auto& one : made) one = look_at(one.id);
  return made;
}

DeliveryRecord HubConformance::added(std::string_view subscription, const std::string& key) {
  return added(1, subscription, key).front();
}

DeliveryRecord HubConformance::look_at(const DeliveryId& id) {
  auto found = hub_admin().delivery(id).value();
  EXPECT_TRUE(found.has_value()) << "no delivery " << id.view();
  return std::move(found).value_or(DeliveryRecord{});
}

std::vector<std::string> HubConformance::due_ids(const DeliveryRecord& like,
                                                 std::uint32_t rows_max) {
  return ids_of(
      deliveries()
          .due(std::array{spi::PendingPage{
              .shard = like.shard, .subscription = like.subscription, .rows_max = rows_max}})
          .value());
}

spi::DeliveryStore::BeginReply HubConformance::begin(const Owner& owner,
                                                     const std::vector<spi::AttemptOf>& attempts) {
  return deliveries().begin(fencing(owner), attempts).value();
}

DeliveryRecord HubConformance::begun(const Owner& owner, const DeliveryRecord& delivery) {
  const auto attempt = next_attempt(delivery);
  EXPECT_EQ(begin(owner, {attempt}).begun, std::vector{attempt});
  return look_at(delivery.id);
}

spi::DeliveryChange HubConformance::ends(const DeliveryRecord& delivery, DeliveryState state) {
  spi::DeliveryChange change;
  change.of = of(delivery);
  change.state = state;
  change.failures = delivery.failures;
  if (state != DeliveryState::completed) {
    ++change.failures;
    change.code = Code::tx_timeout;
    change.error = "no answer within 15s";
    change.status = 504;
  }
  return change;
}

spi::DeliveryStore::ChangeReply HubConformance::change(
    const Owner& owner, const std::vector<spi::DeliveryChange>& changes) {
  return deliveries().change(fencing(owner), changes).value();
}

DeliveryRecord HubConformance::ended_in(const Owner& owner, const DeliveryRecord& delivery,
                                        DeliveryState state) {
  const auto running = begun(owner, delivery);
  if (state == DeliveryState::dead) deliveries().bury(std::array{delivery.id}).value();
  EXPECT_EQ(change(owner, {ends(running, state)}).changed, std::vector{of(running)});
  return look_at(delivery.id);
}

JobRecord HubConformance::job_of(const DeliveryRecord& delivery) {
  JobRecord job;
  job.delivery = delivery.id;
  job.attempt = delivery.attempt;
  job.shard = delivery.shard;
  job.subscription = delivery.subscription;
  return job;
}

DeliveryRecord HubConformance::with_job(const Owner& owner, const DeliveryRecord& delivery) {
  auto running = begun(owner, delivery);
  deliveries().make_jobs(std::array{job_of(running)}).value();
  return running;
}

std::vector<spi::LeasedJob> HubConformance::lease(const LeaseToken& token, std::uint32_t rows_max,
                                                  Duration lease_for) {
  return jobs().lease("worker-1", token, lease_for, rows_max).value();
}

JobResult HubConformance::failure(int status) {
  JobResult result;
  result.code = Code::provider_rejected;
  result.error = "answered " + std::to_string(status);
  result.status = status;
  result.answer = std::string("try \0 later \xff", 13);
  result.retry_after = std::chrono::seconds(7);
  result.took = std::chrono::milliseconds(30);
  return result;
}

JobResult HubConformance::success() {
  JobResult result;
  result.completed = true;
  result.status = 200;
  result.answer = "ok";
  result.took = std::chrono::milliseconds(10);
  return result;
}

bool HubConformance::finish(const LeaseToken& token, const DeliveryRecord& delivery,
                            const JobResult& result) {
  const spi::FinishedJob job{of(delivery), result};
  return jobs().finish(token, std::span(&job, 1)).value().at(0);
}

DeliveryRecord HubConformance::delivered(const Owner& owner, const DeliveryRecord& delivery,
                                         const JobResult& result, DeliveryState state) {
  const auto running = with_job(owner, delivery);
  const auto mine = token();
  EXPECT_EQ(lease(mine, 1).size(), 1U);
  EXPECT_TRUE(finish(mine, running, result));
  if (state == DeliveryState::dead) deliveries().bury(std::array{delivery.id}).value();
  EXPECT_EQ(change(owner, {ends(running, state)}).changed, std::vector{of(running)});
  deliveries().seen(std::array{of(running)}).value();
  return look_at(delivery.id);
}

AuditEvent HubConformance::act(std::string detail) {
  AuditEvent event;
  event.kind = AuditKind::tx_replay_requested;
  event.table = "hub";
  event.detail = std::move(detail);
  event.actor = "ann";
  return event;
}

std::vector<std::string> ids_of(const std::vector<HubEvent>& events) {
  std::vector<std::string> ids;
  for (const auto& event : events) ids.push_back(event.id.str());
  return ids;
}

std::vector<std::string> ids_of(const std::vector<DeliveryRecord>& deliveries) {
  std::vector<std::string> ids;
  for (const auto& delivery : deliveries) ids.push_back(delivery.id.str());
  return ids;
}

}  // namespace sagabox::conformance
