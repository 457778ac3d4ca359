#include "admin/doctor.hpp"

#include "admin/thresholds.hpp"
#include "core/error_text.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sagabox::admin {
namespace {

using spi::Finding;

constexpr std::uint64_t slot_transactions_max = 1'000'000;
constexpr Duration skew_max = std::chrono::seconds(2);
/// A key that is blocked for less is an ordinary retry.
constexpr Duration blocked_min = std::chrono::seconds(10);
constexpr std::size_t blocked_shown_max = 3;
constexpr std::size_t unrouted_shown_max = 3;
constexpr std::size_t text_bytes_max = 200;

std::string clean(std::string_view text) { return clean_error(text, text_bytes_max); }

std::string plural(std::uint64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

class Examination {
 public:
  explicit Examination(const TableFacts& facts) : facts_(facts) {}

  std::vector<Finding> take() && {
    owners();
    pauses();
    blocked();
    jobs();
    horizon();
    refused();
    unrouted();
    ended();
    strays();
    std::vector<Finding> sorted;
    for (const auto severity :
         {Severity::critical, Severity::error, Severity::warning, Severity::info}) {
      std::ranges::copy_if(findings_, std::back_inserter(sorted),
                           [&](const Finding& finding) { return finding.severity == severity; });
    }
    return sorted;
  }

 private:
  void add(Severity severity, std::string what, std::string cure) {
    findings_.push_back({severity, std::move(what), std::move(cure)});
  }
  [[nodiscard]] std::string of_table() const { return " --table " + facts_.table; }

  void owners() {
    const auto pending = facts_.stats.pending;
    const auto unowned = std::ranges::count_if(facts_.owners, [](const spi::ShardOwner& shard) {
      return shard.owner.empty() || shard.lease_left <= Duration::zero();
    });
    if (facts_.owners.empty() || std::cmp_equal(unowned, facts_.owners.size())) {
      add(pending > 0 ? Severity::error : Severity::info,
          "nobody delivers it: no relay has a shard" +
              (pending == 0 ? std::string()
                            : "; " + plural(pending, "message waits", "messages wait")),
          "start a relay for it: sagabox serve, or the service that delivers it");
    } else if (unowned > 0) {
      add(Severity::warning,
          std::to_string(unowned) + " of " + std::to_string(facts_.owners.size()) +
              " shards have no owner at the moment; their messages wait",
          "if it stays so: sagabox owners" + of_table());
    }
  }

  void pauses() {
    for (const auto& pause : facts_.pauses) {
      std::string what =
          (pause.topic.empty() ? "paused" : "topic " + clean(pause.topic) + " paused");
      what += " for " + age_text(facts_.stats.now - pause.since);
      if (!pause.actor.empty()) what += " by " + clean(pause.actor);
      if (!pause.note.empty()) what += ": " + clean(pause.note);
      add(Severity::warning, std::move(what),
          "sagabox resume" + of_table() +
              (pause.topic.empty() ? "" : " --topic " + clean(pause.topic)));
    }
  }

  void blocked() {
    std::size_t shown = 0;
    std::size_t more = 0;
    for (const auto& key : facts_.blocked) {
      if (key.behind == 0 || facts_.stats.now - key.head.written_at < blocked_min) continue;
      if (shown == blocked_shown_max) {
        ++more;
        continue;
      }
      ++shown;
      const auto& head = key.head;
      const bool usual = head.tenant.empty() || head.tenant == tenant_default;
      std::string what = "key " + quoted(key.key) +
                         (usual ? "" : " of tenant " + quoted(head.tenant)) + ": " +
                         std::to_string(key.behind) + (key.more_behind ? " or more" : "") +
                         (key.behind == 1 ? " waits for " : " wait for ") + head.id.str() +
                         ", which failed " + plural(head.attempts, "time", "times");
      if (head.code) what += " (" + std::string(code_name(*head.code)) + ")";
      if (head.due && *head.due > facts_.stats.now) {
        what += ", next try in " + age_text(*head.due - facts_.stats.now);
      }
      add(Severity::warning, std::move(what), "sagabox explain " + head.id.str() + of_table());
    }
    if (more > 0 || (shown > 0 && facts_.more_blocked)) {
      add(Severity::warning,
          facts_.more_blocked
              ? "more keys wait for messages that failed"
              : plural(more, "more key waits", "more keys wait") + " for messages that failed",
          "sagabox outbox list --retrying" + of_table());
    }
  }

  void jobs() {
    for (const auto& job : facts_.jobs) {
      const auto name = "replay job " + std::to_string(job.id.value);
      if (job.state == ReplayJob::State::failed) {
        add(Severity::warning, name + " failed: " + clean(job.error),
            "sagabox replay resume " + std::to_string(job.id.value) + of_table());
      } else if (job.state == ReplayJob::State::running) {
        add(Severity::info,
            name + " is running, " + std::to_string(job.replayed) + " of " +
                std::to_string(job.matched) + " replayed",
            "sagabox replay show " + std::to_string(job.id.value) + of_table());
      }
    }
  }

  void horizon() {
    const auto& stats = facts_.stats;
    if (stats.oldest_transaction.value_or(Duration{}) > transaction_max) {
      add(Severity::warning,
          "a transaction is open for " + age_text(*stats.oldest_transaction) +
              " and keeps the database from clearing up",
          "sagabox doctor tells which");
    }
    if (stats.slot_transactions.value_or(0) > slot_transactions_max) {
      add(Severity::warning,
          "a replication slot keeps the database from clearing up the last " +
              std::to_string(*stats.slot_transactions) + " transactions",
          "sagabox doctor tells which");
    }
  }

  void refused() {
    if (facts_.refused.count > 0) {
      std::string what = "the database refuses the results of " +
                         plural(facts_.refused.count, "message", "messages") +
                         " and their quarantine";
      std::string cure = "mend what the error names";
      if (!facts_.refused.first.empty()) {
        const auto& first = facts_.refused.first.front();
        what += ", the first " + first.id.str() + " (" + std::string(code_name(first.code)) + ": " +
                clean(first.error) + ")";
        cure += "; sagabox explain " + first.id.str() + of_table();
      }
      add(Severity::error, what + "; the next owner of their shards delivers them again",
          std::move(cure));
    }
    const auto& quarantined_results = facts_.quarantined_results;
    if (quarantined_results.count == 0) return;
    add(Severity::warning,
        plural(quarantined_results.count, "message is", "messages are") +
            (quarantined_results.more ? " or more" : "") +
            " quarantined because the database refused the result, the first " +
            quarantined_results.first.id.str() + ": " + clean(quarantined_results.first.note),
        "sagabox outbox list --state quarantined" + of_table() + ", then sagabox explain ID");
  }

  void unrouted() {
    const auto& topics = facts_.unrouted.first;
    const auto shown = std::min(topics.size(), unrouted_shown_max);
    for (std::size_t at = 0; at < shown; ++at) {
      const auto& one = topics[at];
      const bool usual = one.aggregate_type == aggregate_global;
      const auto& now = facts_.stats.now;
      add(Severity::warning,
          "topic " + quoted(one.topic) +
              (usual ? "" : " of aggregate type " + quoted(one.aggregate_type)) +
              " has no listener and no route here; its messages wait, the oldest for " +
              age_text(now - one.since) + ", and no attempt is spent" +
              (one.until > now ? "; it is dead in " + age_text(one.until - now) : ""),
          "add a route for it, or start the version that knows it");
    }
    if (facts_.unrouted.count <= shown) return;
    const auto more = facts_.unrouted.count - shown;
    add(Severity::warning,
        plural(more, "more topic has", "more topics have") + " no listener and no route here",
        "metric outbox_unrouted_topics; the log of the process names them");
  }

  void ended() {
    if (facts_.stats.dead > 0) {
      add(Severity::warning, plural(facts_.stats.dead, "dead letter", "dead letters"),
          "sagabox dead list" + of_table());
    }
    if (facts_.stats.quarantined > 0) {
      add(Severity::info,
          plural(facts_.stats.quarantined, "message is", "messages are") + " quarantined",
          "sagabox outbox list --state quarantined" + of_table());
    }
  }

  void strays() {
    if (facts_.strays.empty()) return;
    const auto& first = facts_.strays.front();
    add(Severity::error,
        plural(facts_.strays.size(), "pending message that no relay reads",
               "pending messages that no relay reads") +
            ", the first " + first.id.str() + ": " + clean(first.why),
        "quarantine and release them: sagabox dead quarantine ID, sagabox dead release ID");
  }

  const TableFacts& facts_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> findings_of(const TableFacts& facts) { return Examination(facts).take(); }

Finding down_finding(const DestinationState& target) {
  return {Severity::error,
          "target " + clean(target.target) + " is down for " + age_text(target.down_for) +
              (target.last_error.empty() ? "" : " (" + clean(target.last_error) + ")") +
              "; its messages wait, no attempt is spent",
          target.next_probe > Duration{} ? "it is tried again in " + age_text(target.next_probe)
                                         : "it is being tried now"};
}

std::optional<Finding> clock_finding(WallTime before, WallTime database, WallTime after) {
  const auto skew =
      std::max<WallTime::duration>({before - database, database - after, WallTime::duration{}});
  if (skew <= skew_max) return std::nullopt;
  return Finding{Severity::warning,
                 "the clocks differ: the database's is " + age_text(skew) +
                     (database < before ? " behind" : " ahead of") + " ours",
                 "synchronise both with NTP; leases go by the database's clock, times in logs do "
                 "not"};
}

}  // namespace sagabox::admin
