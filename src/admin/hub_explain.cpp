#include "admin/hub_explain.hpp"

#include "core/error_text.hpp"
#include "core/masked_url.hpp"
#include "core/text.hpp"
#include "delivery/subscription.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sagabox::admin {
namespace {

constexpr std::size_t delivery_error_shown_max = 300;

/// Puts the answer together.
class DeliveryAnswerText {
 public:
  explicit DeliveryAnswerText(const DeliveryFacts& facts)
      : facts_(facts), delivery_(facts.delivery) {}

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
  [[nodiscard]] std::string ago(WallTime then) const {
    return age_text(facts_.now - then) + " ago";
  }
  [[nodiscard]] std::string ended() const {
    return delivery_.ended_at ? ", " + ago(*delivery_.ended_at) : std::string();
  }
  void because(DeliveryWhy why, std::string text) {
    answer_.reasons.push_back({why, std::move(text)});
  }
  void next(std::string text) {
    if (answer_.next.empty()) answer_.next = std::move(text);
  }
  [[nodiscard]] std::string endpoint() const {
    if (!facts_.subscription) return "subscription " + delivery_.subscription.str();
    const auto& name = facts_.subscription->name;
    return name.empty() ? masked_url(facts_.subscription->target) : name;
  }
  [[nodiscard]] std::string subscription_command(std::string_view verb) const {
    return "sagabox subscription " + std::string(verb) + " " + delivery_.subscription.str();
  }
  [[nodiscard]] std::string failure() const {
    if (!delivery_.code && delivery_.error.empty()) return {};
    return ": " + (delivery_.code ? std::string(code_name(*delivery_.code)) + " " : std::string()) +
           clean_error(delivery_.error, delivery_error_shown_max);
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
      next(subscription_command("enable") + ", then requeue it");
      return;
    }
    next("sagabox delivery requeue " + delivery_.id.str());
  }

  void open() {
    subscription();
    ownership();
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

  void subscription() {
    if (!facts_.subscription) return;
    const auto& record = *facts_.subscription;
    const auto why = record.reason.empty() ? std::string() : ": " + clean_error(record.reason);
    switch (record.state) {
      case SubscriptionState::paused:
        because(DeliveryWhy::paused,
                "its subscription to be resumed, paused " + ago(record.changed_at) + why);
        next(subscription_command("resume"));
        break;
      case SubscriptionState::disabled:
        because(DeliveryWhy::disabled,
                "its end: its subscription was disabled " + ago(record.changed_at) + why);
        next(subscription_command("enable"));
        break;
      case SubscriptionState::unverified:
        because(DeliveryWhy::unverified, "its endpoint to prove itself");
        next(subscription_command("verify"));
        break;
      case SubscriptionState::active:
        break;
    }
    const auto problem = delivery::Subscription(record).problem;
    if (problem.empty()) return;
    because(DeliveryWhy::unreadable, "a process that can read its subscription: " + problem);
    next(subscription_command("show"));
  }

  [[nodiscard]] const spi::ShardOwner* owner() const {
    const auto& shards = facts_.owners->shards;
    const auto found = std::ranges::find_if(shards, [&](const spi::ShardOwner& shard) {
      return shard.shard == delivery_.shard && !shard.owner.empty();
    });
    return found == shards.end() ? nullptr : &*found;
  }

  void ownership() {
    if (!facts_.owners) return;
    const auto* const owner = this->owner();
    const bool held = owner != nullptr && owner->lease_left > Duration::zero();
    answer_.owner = owner == nullptr
                        ? "nobody"
                        : owner->owner.str() +
                              (held ? ", lease " + age_text(owner->lease_left) + " left"
                                    : ", lease has run out") +
                              ", epoch " + std::to_string(owner->epoch.value);
    if (held) return;
    because(DeliveryWhy::no_owner,
            facts_.owners->live.empty()
                ? "a process: no daemon runs the hub"
                : "an owner: nobody owns shard " + std::to_string(delivery_.shard.value));
    next("start a daemon with hub.enabled");
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
  DeliveryExplanation answer_;
};

}  // namespace

DeliveryExplanation explain(const DeliveryFacts& facts) { return DeliveryAnswerText(facts).take(); }

}  // namespace sagabox::admin

namespace sagabox {
namespace {

constexpr std::array<std::string_view, delivery_why_count> delivery_why_names{
    "completed",  "dead",       "requeued",     "paused",         "disabled",
    "unverified", "unreadable", "no_owner",     "earlier_of_key", "retry_due",
    "no_worker",  "sending",    "result_waits", "with_owner"};
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
  std::string text = state;
  const auto add = [&](std::string_view label, std::string_view line) {
    constexpr std::size_t label_width = 11;
    text += '\n';
    text += label;
    text.append(label_width - label.size(), ' ');
    text += line;
  };
  bool first = true;
  for (const auto& reason : reasons) {
    const bool waits = reason.why > DeliveryWhy::requeued;
    add(!waits ? "because:" : first ? "waits for:" : "and:", reason.text);
    first = false;
  }
  if (!owner.empty()) add("owner:", owner);
  if (!next.empty()) add("next:", next);
  return text;
}

}  // namespace sagabox
