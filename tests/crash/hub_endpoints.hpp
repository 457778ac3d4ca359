#pragma once

#include "crash/hub_judgement.hpp"
#include "support/http_server.hpp"

#include <sagabox/random.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::crash {

/// A subscription of this test and what its endpoint does.
struct EndpointPlan {
  std::string id{};
  std::string settings = "{}";
  bool keeps_order = false;
  bool even_only = false;  ///< matches every second event only
  // Of a thousand requests; the others succeed:
  std::uint64_t fails = 0;   ///< 500
  std::uint64_t busy = 0;    ///< 429, come again in a second
  std::uint64_t resets = 0;  ///< the connection is cut
  std::uint64_t hangs = 0;   ///< answered some time later, often past the timeout
  /// 410 after so many requests. 0: never.
  std::uint64_t gone_after = 0;
};

/// One server for all endpoints, a path for each, which notes what came.
class HubEndpoints {
 public:
  HubEndpoints(std::vector<EndpointPlan> plans, std::uint64_t seed)
      : plans_(std::move(plans)), random_(seeded_random(seed)) {}
  [[nodiscard]] std::string url(const std::string& id) const { return server_.url("/" + id); }
  [[nodiscard]] std::vector<Receipt> receipts() const {
    const std::scoped_lock lock(mutex_);
    return receipts_;
  }

 private:
  testing::HttpReply reply_to(const testing::HttpRequest& request) {
    const std::scoped_lock lock(mutex_);
    const auto id = request.path.substr(1);
    const auto plan = std::ranges::find(plans_, id, &EndpointPlan::id);
    // Without a plan, all succeeds.
    auto reply = draw(plan == plans_.end() ? EndpointPlan{} : *plan);
    receipts_.push_back({.event = request.header("webhook-id"),
                         .subscription = id,
                         .success = !reply.hang_up && reply.status < 300});
    return reply;
  }

  testing::HttpReply draw(const EndpointPlan& plan) {
    if (plan.gone_after > 0 && ++asked_gone_ > plan.gone_after) return {.status = 410};
    auto rest = random_->below(1000);
    const auto falls_on = [&](std::uint64_t share) {
      if (rest < share) return true;
      rest -= share;
      return false;
    };
    if (falls_on(plan.fails)) return {.status = 500};
    if (falls_on(plan.busy)) return {.status = 429, .headers = {{"Retry-After", "1"}}};
    if (falls_on(plan.resets)) return {.hang_up = true};
    if (falls_on(plan.hangs)) return {.never = true};
    return {.status = 200};
  }

  void answer_held(const std::stop_token& end) {
    std::mutex none;
    std::unique_lock lock(none);
    while (!end.stop_requested()) {
      (void)wait_.wait_for(lock, end, std::chrono::milliseconds(600), [] { return false; });
      server_.answer_held();
    }
  }

  const std::vector<EndpointPlan> plans_;
  mutable std::mutex mutex_;  // of all below up to the server
  std::unique_ptr<Random> random_;
  std::vector<Receipt> receipts_;
  std::uint64_t asked_gone_ = 0;  // one endpoint at most is gone
  testing::HttpServer server_{[this](const auto& request) { return reply_to(request); }};
  std::condition_variable_any wait_;
  std::jthread answerer_{[this](const std::stop_token& end) { answer_held(end); }};
};

}  // namespace sagabox::crash
