#pragma once

#include "stores/sql/audit_store.hpp"
#include "stores/sql/session.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/spi/delivery_store.hpp>
#include <sagabox/spi/feed.hpp>
#include <sagabox/spi/fencing.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sagabox::sql {

/// What waits and wakes go by: no outbox has such a name.
inline constexpr std::string_view hub_events_feed = "hub:events";
inline constexpr std::string_view hub_deliveries_feed = "hub:deliveries";
inline constexpr std::string_view hub_jobs_feed = "hub:jobs";

/// What the roles of the hub need of their database.
struct HubParts {
  Sessions& sessions;
  const AuditChain& audit;
  const Clock* clock;  ///< of a database that has none itself
  spi::Capabilities capabilities;
  /// `hub_requeue` writes to the audit log itself.
  bool requeue_audits = false;
  /// Makes the tables.
  std::function<Status()> prepare;
  /// What a read could not see, from its first row; null where commits come in order.
  std::optional<spi::Horizon> (*horizon)(const Row& row);
  /// A read of events is through: what it could not see, and how many there were. May be null.
  std::function<void(const spi::Horizon& unseen, std::size_t rows)> looked{};
  /// A read of another feed is through, and found so many rows. May be null.
  std::function<void(std::string_view feed, std::size_t rows)> found{};
  std::function<void(std::string_view feed, Duration timeout)> wait;
  std::function<void(std::string_view feed)> wake;

  [[nodiscard]] std::optional<WallTime> now() const {
    return clock == nullptr ? std::nullopt : std::optional(clock->wall_now());
  }
  void tell_found(std::string_view feed, std::size_t rows) const {
    if (found) found(feed, rows);
  }
  Result<Rows> read(const Statement& statement, Values values) const;
  Result<Rows> write(const Statement& statement, Values values) const;
};

/// How many columns the statements of the hub return for each kind of record.
inline constexpr int hub_event_columns = 22;
inline constexpr int hub_delivery_columns = 19;
inline constexpr int hub_job_columns = 16;

/// Records from `column` on.
HubEvent hub_event(const Row& row, int column);
DeliveryRecord hub_delivery(const Row& row, int column);
JobRecord hub_job(const Row& row, int column);
SubscriptionRecord hub_subscription(const Row& row);

/// As a list of a column.
std::string types_text(const std::vector<std::string>& types);

template <class IdType>
std::vector<std::string> id_texts(std::span<const IdType> ids) {
  std::vector<std::string> texts;
  for (const auto& id : ids) texts.push_back(id.str());
  return texts;
}

template <class IdType>
IdType hub_id(std::string_view text) {
  auto id = IdType::parse(text);
  return id.ok() ? *id : IdType{};
}

/// Deliveries and attempts in two lists, as they begin the values of most statements.
struct AttemptLists {
  std::vector<std::string> deliveries;
  std::vector<std::int64_t> attempts;
  void add(const spi::AttemptOf& of) {
    deliveries.push_back(of.delivery.str());
    attempts.push_back(of.attempt);
  }
};
AttemptLists lists_of(std::span<const spi::AttemptOf> attempts);
spi::AttemptOf attempt_from(const Row& row);

/// In the transaction of `session`.
Status append_audit(const HubParts& parts, Session& session, std::span<const AuditEvent> audit);

/// Which fences hold, and what is done if all do, in one transaction.
class HubFences {
 public:
  explicit HubFences(Sections& sections) : hold_(sections.take("hub_hold")) {}

  /// `work(session)` once all fences hold; returns their verdicts.
  template <class Work>
  Result<std::vector<bool>> run(const HubParts& parts, const spi::Fencing& fencing,
                                Work&& work) const {
    std::vector<bool> held;
    auto done = in_transaction(parts.sessions, [&](Session& session) -> Status {
      auto answered = look(session, fencing);
      if (!answered.ok()) return answered.error();
      held = std::move(answered).value();
      return all(held) ? work(session) : Status();
    });
    if (!done.ok()) return done.error();
    return held;
  }
  /// The fenced shards as one text: "0,3,5". Lists have an element for each row.
  static std::string shards_text(const spi::Fencing& fencing);
  static bool all(const std::vector<bool>& held);

 private:
  Result<std::vector<bool>> look(Session& session, const spi::Fencing& fencing) const;

  Statement hold_;
};

}  // namespace sagabox::sql
