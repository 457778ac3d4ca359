#pragma once

#include "crash/hub_endpoints.hpp"
#include "crash/hub_judgement.hpp"

#include <sagabox/hub.hpp>
#include <sagabox/random.hpp>
#include <sagabox/store.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox::crash {

/// Publishes on a thread of its own, one transaction after another, and notes what committed. Some
/// transactions stay open for a while, so that others overtake them; some are rolled back; some
/// publish again what is there.
class HubProducer {
 public:
  HubProducer(Store& store, Hub& hub, const std::vector<EndpointPlan>& plans, std::string name,
              std::uint64_t seed)
      : store_(store),
        hub_(hub),
        plans_(plans),
        name_(std::move(name)),
        random_(seeded_random(seed)),
        thread_([this] { run(); }) {}
  ~HubProducer() { stop(); }
  HubProducer(const HubProducer&) = delete;
  HubProducer& operator=(const HubProducer&) = delete;

  void stop() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Once it is stopped:
  [[nodiscard]] const std::vector<CommittedEvent>& committed() const { return committed_; }
  /// Transactions that did not end as they had to; there is no reason for any.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Draft {
    std::uint64_t number = 0;
    std::string key{};
  };

  void run() {
    while (!stopped_) {
      step();
      std::this_thread::sleep_for(std::chrono::milliseconds(random_->below(50)));
    }
  }

  void step() {
    if (!drafts_.empty() && random_->below(15) == 0) return publish_again();
    std::vector<Draft> drafts;
    for (auto count = 1 + random_->below(3); count > 0; --count) {
      drafts.push_back({++number_, name_ + "-k" + std::to_string(random_->below(20))});
    }
    auto tx = store_.begin();
    if (!tx.ok()) return problem("begin", tx.error());
    std::vector<NewEvent> events;
    for (const auto& draft : drafts) events.push_back(event_of(draft));
    const auto published = hub_.publish(**tx, std::move(events));
    if (!published.ok()) return problem("publish", published.error());
    if (random_->below(5) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random_->below(40)));
    }
    if (random_->below(10) == 0) {
      (void)(*tx)->rollback();
      return;
    }
    if (const auto ended = (*tx)->commit(); !ended.ok()) return problem("commit", ended.error());
    for (std::size_t at = 0; at < drafts.size(); ++at) note(drafts[at], published->at(at));
  }

  void publish_again() {
    const auto at = random_->below(drafts_.size());
    const auto again = hub_.publish(event_of(drafts_[at]));
    if (!again.ok()) return problem("publish again", again.error());
    if (!again->duplicate || again->id.str() != committed_[at].id) {
      problems_.push_back(committed_[at].id + " was published again as " + again->id.str());
    }
  }

  void note(const Draft& draft, const Published& published) {
    if (published.duplicate) problems_.push_back(published.id.str() + " was there before");
    CommittedEvent event{.id = published.id.str(), .key = draft.key};
    for (const auto& plan : plans_) {
      if (!plan.even_only || is_even(draft)) event.subscriptions.push_back(plan.id);
    }
    committed_.push_back(std::move(event));
    drafts_.push_back(draft);
  }

  void problem(const std::string& what, const Error& error) {
    problems_.push_back(what + ": " + error.message);
  }

  static bool is_even(const Draft& draft) { return draft.number % 2 == 0; }
  [[nodiscard]] NewEvent event_of(const Draft& draft) const {
    return {.message = {.topic = "shop.order.placed.v1",
                        .key = draft.key,
                        .payload = json(R"({"n":)" + std::to_string(draft.number) + R"(,"even":)" +
                                        (is_even(draft) ? "true" : "false") + "}")},
            .source = name_,
            .external_id = std::to_string(draft.number)};
  }

  Store& store_;
  Hub& hub_;
  const std::vector<EndpointPlan>& plans_;
  const std::string name_;
  std::unique_ptr<Random> random_;
  std::vector<CommittedEvent> committed_;
  std::vector<Draft> drafts_;  // of what committed
  std::vector<std::string> problems_;
  std::uint64_t number_ = 0;
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

}  // namespace sagabox::crash
