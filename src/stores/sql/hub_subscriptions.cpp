#include "stores/sql/hub_subscriptions.hpp"

#include "spi/hub_rules.hpp"

#include <chrono>
#include <map>

namespace sagabox::sql {
namespace {

std::optional<SubscriptionRecord> first_of(const Rows& rows) {
  return rows.empty() ? std::nullopt : std::optional(hub_subscription(rows.front()));
}

}  // namespace

HubSubscriptionStore::HubSubscriptionStore(Sections& sections, const HubParts& parts)
    : parts_(parts),
      lock_(sections.take("hub_subscription_lock")),
      get_(sections.take("hub_subscription_get")),
      write_(sections.take("hub_subscription_write")),
      list_(sections.take("hub_subscription_list")),
      list_in_(sections.take("hub_subscription_list_in")),
      count_(sections.take("hub_subscription_count")),
      add_secret_(sections.take("hub_secret_add")),
      secrets_(sections.take("hub_secrets")),
      reseal_(sections.take("hub_reseal")) {}

Result<bool> HubSubscriptionStore::write_in(Session& session, const SubscriptionRecord& record,
                                            std::span<const AuditEvent> audit) const {
  auto rows = session.run(lock_, {record.id.view()});
  if (!rows.ok()) return rows.error();
  const auto stored = first_of(*rows);
  if ((stored ? stored->version : 0) + 1 != record.version) return false;
  if (stored && stored->tenant != record.tenant) return spi::other_tenant(record.id);
  auto now = session.now();
  if (!now.ok()) return now.error();
  const auto since = spi::active_since_after(stored ? &*stored : nullptr, record.state, *now);
  auto written = session.run(
      write_, {record.id.view(), record.tenant, record.name, subscription_state_name(record.state),
               types_text(record.types), record.target, record.settings, record.reason, since,
               record.version, *now});
  if (!written.ok()) return written.error();
  if (written->empty()) return false;
  if (auto noted = append_audit(parts_, session, audit); !noted.ok()) return noted.error();
  return true;
}

Result<bool> HubSubscriptionStore::write(const SubscriptionRecord& record,
                                         std::span<const AuditEvent> audit) {
  if (auto valid = spi::check_subscription(record); !valid.ok()) return valid.error();
  auto written = in_transaction(parts_.sessions,
                                [&](Session& session) { return write_in(session, record, audit); });
  if (written.ok() && *written) parts_.wake(hub_deliveries_feed);
  return written;
}

Result<std::optional<SubscriptionRecord>> HubSubscriptionStore::get(const SubscriptionId& id) {
  auto rows = parts_.read(get_, {id.view()});
  if (!rows.ok()) return rows.error();
  return first_of(*rows);
}

Result<std::vector<SubscriptionRecord>> HubSubscriptionStore::list(
    const spi::SubscriptionList& request) {
  const auto& filter = request.filter;
  std::optional<std::string_view> state;
  if (filter.state) state = subscription_state_name(*filter.state);
  auto rows = parts_.read(filter.tenant ? list_in_ : list_, {request.after.view(), filter.tenant,
                                                             state, filter.name, request.rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<SubscriptionRecord> records;
  for (const auto row : *rows) records.push_back(hub_subscription(row));
  return records;
}

Result<spi::SubscriptionStore::Count> HubSubscriptionStore::count(std::string_view tenant) {
  auto rows = parts_.read(count_, {tenant});
  if (!rows.ok()) return rows.error();
  return Count{.enabled = rows->front().natural(0), .disabled = rows->front().natural(1)};
}

Result<std::uint32_t> HubSubscriptionStore::add_secret(const SubscriptionId& id,
                                                       std::string_view sealed, Duration overlap,
                                                       std::span<const AuditEvent> audit) {
  using std::chrono::microseconds;
  const auto micros = std::chrono::ceil<microseconds>(overlap).count();
  return in_transaction(parts_.sessions, [&](Session& session) -> Result<std::uint32_t> {
    auto known = session.run(lock_, {id.view()});
    if (!known.ok()) return known.error();
    if (known->empty()) return spi::no_subscription(id);
    auto live = session.run(secrets_, {id_texts(std::span(&id, 1)), parts_.now()});
    if (!live.ok()) return live.error();
    auto fits = spi::check_new_secret(id, live->size(), overlap);
    if (!fits.ok()) return fits.error();
    auto rows = session.run(add_secret_, {id.view(), sealed, micros, parts_.now()});
    if (!rows.ok()) return rows.error();
    const auto number = rows->front().natural32(0);
    if (auto noted = append_audit(parts_, session, audit); !noted.ok()) return noted.error();
    return number;
  });
}

Result<std::vector<spi::SubscriptionStore::SecretsOf>> HubSubscriptionStore::secrets(
    std::span<const SubscriptionId> ids) {
  auto rows = parts_.read(secrets_, {id_texts(ids), parts_.now()});
  if (!rows.ok()) return rows.error();
  std::map<SubscriptionId, std::vector<spi::SealedSecret>> by_id;
  for (const auto row : *rows) {
    by_id[hub_id<SubscriptionId>(row.text(0))].push_back({.number = row.natural32(1),
                                                          .sealed = std::string(row.text(2)),
                                                          .created_at = row.time(3),
                                                          .expires_at = row.maybe_time(4)});
  }
  std::vector<SecretsOf> found;
  for (const auto& id : ids) found.push_back({.subscription = id, .secrets = by_id[id]});
  return found;
}

Result<std::uint64_t> HubSubscriptionStore::reseal(std::span<const ResealedSecret> secrets) {
  if (secrets.empty()) return std::uint64_t{0};
  std::vector<std::string> subscriptions, before, after;
  std::vector<std::int64_t> numbers;
  for (const auto& secret : secrets) {
    subscriptions.push_back(secret.subscription.str());
    numbers.push_back(secret.number);
    before.push_back(secret.before);
    after.push_back(secret.after);
  }
  auto rows =
      parts_.write(reseal_, {std::move(subscriptions), std::move(numbers), std::move(before),
                             std::move(after), by_element(secrets.size())});
  if (!rows.ok()) return rows.error();
  return std::uint64_t{rows->size()};
}

}  // namespace sagabox::sql
