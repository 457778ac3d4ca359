#include "admin/hub_explain.hpp"

#include "admin/answer.hpp"
#include "core/error_text.hpp"
#include "core/masked_url.hpp"
#include "core/text.hpp"
#include "delivery/subscription.hpp"
#include "delivery/worker/targets.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sagabox::admin {
namespace {

constexpr std::size_t hub_error_shown_max = 300;

/// Shared by the answers about a delivery and about a subscription.
class HubAnswerText {
 protected:
  HubAnswerText(WallTime now, const std::optional<EndpointState>& endpoint)
      : now_(now), endpoint_(endpoint) {}

  [[nodiscard]] std::string ago(WallTime then) const { return age_text(now_ - then) + " ago"; }
  void because(DeliveryWhy why, std::string text) {
    answer_.reasons.push_back({why, std::move(text)});
  }
  void next(std::string text) {
    if (answer_.next.empty()) answer_.next = std::move(text);
  }
  [[nodiscard]] static std::string subscription_command(const SubscriptionId& subscription,
                                                        std::string_view verb) {
    return "sagabox subscription " + std::string(verb) + " " + subscription.str();
  }

  /// `whose`: "its subscription" for a delivery, "it" for the subscription itself.
  void state_of(const SubscriptionRecord& record, const std::string& whose) {
    const auto why = record.reason.empty() ? std::string() : ": " + clean_error(record.reason);
    switch (record.state) {
      case SubscriptionState::paused:
        because(DeliveryWhy::paused,
                whose + " to be resumed, paused " + ago(record.changed_at) + why);
        next(subscription_command(record.id, "resume"));
        break;
      case SubscriptionState::disabled:
        because(DeliveryWhy::disabled, (whose == "it" ? std::string("it to be enabled, disabled ")
                                                      : "its end: " + whose + " was disabled ") +
                                           ago(record.changed_at) + why);
        next(subscription_command(record.id, "enable"));
        break;
      case SubscriptionState::unverified:
        because(DeliveryWhy::unverified, "its endpoint to prove itself");
        next(subscription_command(record.id, "verify"));
        break;
      case SubscriptionState::active:
        break;
    }
    const auto problem = delivery::Subscription(record).problem;
    if (problem.empty()) return;
    because(DeliveryWhy::unreadable, "a process that can read " +
                                         (whose == "it" ? std::string("its settings") : whose) +
                                         ": " + problem);
    next(subscription_command(record.id, "show"));
  }

  void ownership(const std::optional<spi::Census>& owners, Shard shard) {
    if (!owners) return;
    const auto* const owner = owner_of(owners->shards, shard);
    const bool held = owner != nullptr && owner->lease_left > Duration::zero();
    answer_.owner = owner_text(owner);
    if (held) return;
    because(DeliveryWhy::no_owner,
            owners->live.empty() ? "a process: no daemon runs the hub"
                                 : "an owner: nobody owns shard " + std::to_string(shard.value));
    next("start a daemon with hub.enabled");
  }

  /// Known only if the owner was asked.
  void endpoint_down() {
    if (!endpoint_ || !endpoint_->down_since) return;
    because(DeliveryWhy::endpoint_down,
            "its endpoint, which has been down for " + age_text(now_ - *endpoint_->down_since) +
                "; single attempts probe it, the others wait and are not spent");
  }

  const WallTime now_;
  const std::optional<EndpointState>& endpoint_;
  DeliveryExplanation answer_;
};

/// Builds the answer about a delivery.
class DeliveryAnswerText final : private HubAnswerText {
 public:
  explicit DeliveryAnswerText(const DeliveryFacts& facts)
      : HubAnswerText(facts.now, facts.endpoint), facts_(facts), delivery_(facts.delivery) {}

  DeliveryExplanation take() && {
    answer_.state = std::string(delivery_state_name(delivery_.state)) + ", " + delivery_.type +
                    " to " + endpoint() + ", made " + ago(delivery_.created_at);
    if (delivery_.generation > 0) {
      answer_.state += " by requeue " + std::to_string(delivery_.generation);
    }
    if (delivery_.state == DeliveryState::completed) {
      because(DeliveryWhy::completed,
              "attempt " + std::to_string(delivery_.attempt) + " succeeded" + ended());
    } else if (delivery_.state == DeliveryState::dead) {
      dead();
    } else {
      open();
    }
    return std::move(answer_);
  }

 private:
  [[nodiscard]] std::string ended() const {
    return delivery_.ended_at ? ", " + ago(*delivery_.ended_at) : std::string();
  }
  [[nodiscard]] std::string endpoint() const {
    if (!facts_.subscription) return "subscription " + delivery_.subscription.str();
    const auto& name = facts_.subscription->name;
    return name.empty() ? masked_target(facts_.subscription->target) : name;
  }
  [[nodiscard]] std::string failure() const {
    if (!delivery_.code && delivery_.error.empty()) return {};
    return ": " + (delivery_.code ? std::string(code_name(*delivery_.code)) + " " : std::string()) +
           clean_error(delivery_.error, hub_error_shown_max);
  }

  void dead() {
    because(DeliveryWhy::dead,
            "attempt " + std::to_string(delivery_.attempt) + " was the last" + ended() + failure());
    if (facts_.next_generation) {
      const auto& later = *facts_.next_generation;
      because(DeliveryWhy::requeued, "it was requeued as " + later.id.str() + ", which is " +
                                         std::string(delivery_state_name(later.state)));
      next("sagabox explain " + later.id.str());
      return;
    }
    const bool disabled =
        facts_.subscription && facts_.subscription->state == SubscriptionState::disabled;
    if (disabled) {
      because(DeliveryWhy::disabled, "its subscription is disabled: what is requeued dies at once");
      next(subscription_command(delivery_.subscription, "enable") + ", then requeue it");
      return;
    }
    next("sagabox delivery requeue " + delivery_.id.str());
  }

  void open() {
    if (facts_.subscription) state_of(*facts_.subscription, "its subscription");
    ownership(facts_.owners, delivery_.shard);
    if (delivery_.state != DeliveryState::in_progress) endpoint_down();
    switch (delivery_.state) {
      case DeliveryState::in_progress:
        attempt();
        break;
      case DeliveryState::waiting:
        earlier();
        break;
      default:
        earlier();
        retry();
    }
    if (answer_.reasons.empty()) {
      because(DeliveryWhy::with_owner, "its owner; nothing holds it, it should go out at once");
    }
  }

  void earlier() {
    if (facts_.earlier.empty()) return;
    const auto count = facts_.earlier.size();
    const auto& first = facts_.earlier.front();
    because(DeliveryWhy::earlier_of_key,
            std::to_string(count) + " earlier " + (count == 1 ? "delivery" : "deliveries") +
                " of key " + quoted(delivery_.key) + " to go first, beginning with " +
                first.id.str() + ", which is " + std::string(delivery_state_name(first.state)));
  }

  void retry() {
    if (delivery_.attempt == 0 || delivery_.next_attempt_at <= facts_.now) return;
    because(DeliveryWhy::retry_due, "attempt " + std::to_string(delivery_.attempt + 1) + ", in " +
                                        age_text(delivery_.next_attempt_at - facts_.now) +
                                        "; the last one failed" + failure());
  }

  void attempt() {
    const auto which = "attempt " + std::to_string(delivery_.attempt);
    const auto job = std::ranges::find(facts_.attempts, delivery_.attempt, &JobRecord::attempt);
    if (job == facts_.attempts.end()) {
      because(DeliveryWhy::with_owner, "its owner, to hand " + which + " to a worker");
    } else if (job->state == HubJobState::pending) {
      because(DeliveryWhy::no_worker,
              "a worker to take " + which + ", made " + ago(job->attempt_at));
      next("if it stays so: is a daemon with the role worker up?");
    } else if (job->state == HubJobState::leased) {
      because(DeliveryWhy::sending, which + ", which " + job->worker + " is making" + lease(*job));
    } else {
      because(DeliveryWhy::result_waits, "its owner to look at the result of " + which);
    }
  }
  [[nodiscard]] std::string lease(const JobRecord& job) const {
    if (!job.lease_until) return {};
    return *job.lease_until > facts_.now
               ? ", lease " + age_text(*job.lease_until - facts_.now) + " left"
               : ", lease has run out";
  }

  const DeliveryFacts& facts_;
  const DeliveryRecord& delivery_;
};

/// Builds the answer about a subscription: why nothing is sent for it.
class SubscriptionAnswerText final : private HubAnswerText {
 public:
  explicit SubscriptionAnswerText(const SubscriptionFacts& facts)
      : HubAnswerText(facts.now, facts.endpoint), facts_(facts), record_(facts.subscription) {}

  DeliveryExplanation take() && {
    const auto& health = facts_.health;
    answer_.state = std::string(subscription_state_name(record_.state)) + ", " +
                    (record_.name.empty() ? "" : record_.name + " to ") +
                    masked_target(record_.target) + ", made " + ago(record_.created_at) + "; " +
                    std::to_string(health.open) + (health.more_open ? " or more" : "") + " open, " +
                    std::to_string(health.dead) + (health.more_dead ? " or more" : "") + " dead";
    if (health.oldest_open) answer_.state += ", the oldest open one " + ago(*health.oldest_open);
    attempts();
    state_of(record_, "it");
    ownership(facts_.owners, facts_.shard);
    endpoint_down();
    if (endpoint_ && endpoint_->down_since && delivery::is_webhook(record_.target)) {
      next(subscription_command(record_.id, "ping") + " asks it now");
    }
    turns();
    if (waits()) return std::move(answer_);
    if (health.open > 0) {
      because(DeliveryWhy::with_owner,
              "nothing but their time: sagabox delivery list --subscription " + record_.id.str() +
                  ", then explain one");
    } else {
      because(DeliveryWhy::nothing_open, "no delivery waits: the next event that matches goes out");
    }
    if (health.dead > 0) {
      next("sagabox delivery requeue --subscription " + record_.id.str() + " --dry-run");
    }
    return std::move(answer_);
  }

 private:
  [[nodiscard]] bool waits() const {
    return std::ranges::any_of(answer_.reasons, [](const DeliveryReason& reason) {
      return reason.why > DeliveryWhy::attempts_fail;
    });
  }
  /// True if the last attempt failed.
  [[nodiscard]] bool fails() const {
    const auto& attempts = facts_.health.attempts;
    return attempts.last_failed_at &&
           (!attempts.last_completed_at || *attempts.last_completed_at < *attempts.last_failed_at);
  }

  [[nodiscard]] Duration looked_back() const {
    const auto& from = facts_.health.attempts.sampled_from;
    return from ? facts_.now - *from : facts_.health.since;
  }

  void attempts() {
    if (!fails()) return;
    const auto& attempts = facts_.health.attempts;
    because(DeliveryWhy::attempts_fail,
            (attempts.last_completed_at
                 ? "the last attempt that succeeded was " + ago(*attempts.last_completed_at)
                 : "no attempt of the last " + age_text(looked_back()) + " succeeded, and " +
                       std::to_string(attempts.failed) + " failed") +
                "; the last one failed " + ago(*attempts.last_failed_at) +
                (attempts.last_error.empty()
                     ? ""
                     : ": " + clean_error(attempts.last_error, hub_error_shown_max)));
  }

  /// The deliveries that wait because of its limits and its window.
  void turns() {
    if (!endpoint_ || endpoint_->down_since || endpoint_->ready == 0) return;
    because(DeliveryWhy::over_limit, "its limits: " + std::to_string(endpoint_->under_way) +
                                         " requests are under way, " +
                                         std::to_string(endpoint_->ready) + " wait for their turn");
  }

  const SubscriptionFacts& facts_;
  const SubscriptionRecord& record_;
};

}  // namespace

DeliveryExplanation explain(const DeliveryFacts& facts) { return DeliveryAnswerText(facts).take(); }

DeliveryExplanation explain(const SubscriptionFacts& facts) {
  return SubscriptionAnswerText(facts).take();
}

}  // namespace sagabox::admin

namespace sagabox {
namespace {

constexpr std::array<std::string_view, delivery_why_count> delivery_why_names{
    "completed",      "dead",       "requeued",   "nothing_open", "attempts_fail", "paused",
    "disabled",       "unverified", "unreadable", "no_owner",     "endpoint_down", "over_limit",
    "earlier_of_key", "retry_due",  "no_worker",  "sending",      "result_waits",  "with_owner"};
static_assert(static_cast<std::size_t>(DeliveryWhy::with_owner) + 1 == delivery_why_names.size());

}  // namespace

std::string_view delivery_why_name(DeliveryWhy why) noexcept {
  return delivery_why_names[static_cast<std::size_t>(why)];
}

std::optional<DeliveryWhy> delivery_why_from_name(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(delivery_why_names, name);
  if (found == delivery_why_names.end()) return std::nullopt;
  return static_cast<DeliveryWhy>(found - delivery_why_names.begin());
}

std::string DeliveryExplanation::text() const {
  return admin::answer_text(*this, DeliveryWhy::attempts_fail, "and:");
}

}  // namespace sagabox
