#pragma once

#include "core/base64.hpp"
#include "crash/eventually.hpp"
#include "crash/hub_endpoints.hpp"
#include "crash/hub_judgement.hpp"
#include "crash/hub_producer.hpp"
#include "crash/process.hpp"
#include "delivery/secret_box.hpp"
#include "delivery/worker/targets.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/hub.hpp>
#include <sagabox/random.hpp>
#include <sagabox/spi/hub_admin_store.hpp>
#include <sagabox/spi/subscription_store.hpp>
#include <sagabox/store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox::crash {

/// Processes that run roles of the hub on one store, producers and endpoints.
class HubGround {
 public:
  using Words = std::map<std::string, std::string>;
  struct Place {
    std::unique_ptr<Store> store;
    Words where;  ///< the store, as the program is told
    /// The leases of jobs that these workers have run out. They last minutes.
    std::function<void(const std::string& workers)> end_leases;
    /// The worker has leased a job that has not ended.
    std::function<bool(const std::string& worker)> has_jobs;
  };
  HubGround(Place place, std::vector<EndpointPlan> plans, std::uint64_t seed)
      : place_(std::move(place)),
        plans_(std::move(plans)),
        seed_(seed),
        random_(seeded_random(seed)),
        hub_(Hub::create(*place_.store, {.roles = {}}).value()),
        endpoints_(plans_, seed) {
    for (const auto& plan : plans_) subscribe(plan.id, "shop.**", plan.settings);
    subscribe(watcher, "hub.**", "{}");
  }

  void start_processes(const std::vector<std::string_view>& roles) {
    for (const auto& one : roles) {
      processes_.push_back({.roles = std::string(one)});
      start(processes_.back());
    }
  }
  void start_producers(std::size_t count) {
    for (std::size_t at = 0; at < count; ++at) {
      const auto name = "p" + std::to_string(at);
      producers_.push_back(
          std::make_unique<HubProducer>(*place_.store, hub_, plans_, name, 10 * seed_ + at));
    }
  }
  void stop_producers() {
    for (const auto& one : producers_) one->stop();
  }

  [[nodiscard]] std::size_t processes() const { return processes_.size(); }
  void kill(std::size_t at) {
    auto& one = processes_[at];
    if (one.roles.find("worker") != std::string::npos) {
      (void)eventually([&] { return place_.has_jobs("'" + one.name + "'"); },
                       std::chrono::seconds(2));
    }
    one.process->kill();
    lost_ += (lost_.empty() ? "'" : ",'") + one.name + "'";
    std::this_thread::sleep_for(milliseconds(random_->below(200)));
    start(one);
    place_.end_leases(lost_);
  }
  /// Long enough that it loses its shards, mostly, and its jobs where another process may have
  /// them.
  void stop_for_a_while(std::size_t at) {
    const auto& one = processes_[at];
    one.process->signal(SIGSTOP);
    std::this_thread::sleep_for(milliseconds(100));
    if (processes_.size() > 1) place_.end_leases("'" + one.name + "'");
    std::this_thread::sleep_for(milliseconds(1000 + random_->below(1'500)));
    one.process->signal(SIGCONT);
  }

  [[nodiscard]] bool all_end() {
    std::size_t expected = std::ranges::any_of(plans_, is_gone) ? 1 : 0;  // told to the watcher
    for (const auto& one : producers_) {
      for (const auto& event : one->committed()) expected += event.subscriptions.size();
    }
    bool ended_all = false;
    (void)eventually([&] {
      // None of them ends by itself.
      for (const auto& one : processes_) {
        if (!one.process->is_running()) return true;
      }
      place_.end_leases(lost_);
      ended_all = all_ended(expected);
      return ended_all;
    });
    return ended_all;
  }
  void stop_processes() {
    for (auto& one : processes_) {
      const auto ended = one.process->stop();
      // One that was started a moment ago may not yet wait for the signal.
      EXPECT_TRUE(ended == 0 || ended == 128 + SIGTERM) << ended << '\n' << last_words();
    }
  }

  /// Everything as it is in the end.
  [[nodiscard]] HubRun run() {
    HubRun run{.receipts = endpoints_.receipts()};
    for (const auto& one : producers_) {
      std::ranges::copy(one->committed(), std::back_inserter(run.events));
    }
    for (const auto& notice :
         admin().events({.filter = {.type = notice_type}, .rows_max = 100}).value()) {
      run.events.push_back({.id = notice.id.str(), .subscriptions = {watcher}});
    }
    for (const auto& plan : plans_) {
      run.subscriptions.push_back({.id = plan.id,
                                   .keeps_order = plan.keeps_order,
                                   .gone = is_gone(plan),
                                   .state = state_of(plan.id)});
    }
    run.subscriptions.push_back({.id = watcher, .state = state_of(watcher)});
    for (const auto& one : deliveries({})) run.deliveries.push_back(judged(one));
    return run;
  }
  /// What is wrong, a few of it; empty: nothing.
  std::string problems() {
    constexpr std::size_t shown_max = 10;
    auto all = problems_of(run());
    for (const auto& one : producers_) std::ranges::copy(one->problems(), std::back_inserter(all));
    const auto notices =
        admin().events({.filter = {.type = notice_type}, .rows_max = 100}).value().size();
    if (const auto must = std::ranges::count_if(plans_, is_gone);
        notices != static_cast<std::size_t>(must)) {
      all.push_back(std::to_string(notices) + " times was told that an endpoint is disabled");
    }
    if (all.empty()) return {};
    std::ostringstream out;
    out << all.size() << " problems\n";
    for (std::size_t at = 0; at < all.size() && at < shown_max; ++at) {
      out << all[at] << '\n' << story_of(all[at]);
    }
    out << last_words();
    return out.str();
  }
  /// Leases of jobs that ran out.
  [[nodiscard]] std::uint32_t leases_lost() {
    std::uint32_t all = 0;
    for (const auto& one : deliveries({})) {
      for (const auto& attempt : admin().attempts(one.id).value()) all += attempt.resets;
    }
    return all;
  }
  [[nodiscard]] std::string last_words() const {
    constexpr std::size_t bytes_max = 3'000;
    std::ifstream file(folder_.file("log"));
    std::string text;
    for (std::string line; std::getline(file, line);) {
      if (line.find("a delivery is dead") == std::string::npos) text += line + '\n';
    }
    return text.size() > bytes_max ? text.substr(text.size() - bytes_max) : text;
  }

 private:
  using milliseconds = std::chrono::milliseconds;
  static constexpr auto watcher = "watcher";
  static constexpr auto notice_type = "hub.subscription.disabled.v1";
  struct Part {
    std::string roles{};
    std::string name{};  // another one after each start
    std::optional<Process> process{};
  };

  /// Seals the secrets of the endpoints.
  static std::string secret_key() {
    std::string text = "k1:";
    append_base64(std::string(delivery::SecretBox::key_bytes, '1'), text);
    return text;
  }
  static bool is_gone(const EndpointPlan& plan) { return plan.gone_after > 0; }
  [[nodiscard]] spi::HubAdminStore& admin() const { return place_.store->hub()->admin; }

  void subscribe(const std::string& id, const std::string& type, const std::string& settings) {
    SubscriptionRecord record;
    record.id = SubscriptionId::parse(id).value();
    record.tenant = std::string(tenant_default);
    record.state = SubscriptionState::active;
    record.types = {type};
    record.target = endpoints_.url(id);
    record.settings = settings;
    record.version = 1;
    auto& subscriptions = place_.store->hub()->subscriptions;
    EXPECT_TRUE(subscriptions.write(record, {}).value());
    // What is not signed has no webhook-id.
    const auto sealed = delivery::SecretBox::create(secret_key())
                            .value()
                            .seal("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                  delivery::secret_context(record.id), *random_)
                            .value();
    EXPECT_TRUE(subscriptions.add_secret(record.id, sealed, std::chrono::hours(1), {}).ok());
  }
  [[nodiscard]] SubscriptionState state_of(const std::string& id) const {
    const auto parsed = SubscriptionId::parse(id).value();
    return place_.store->hub()->subscriptions.get(parsed).value().value().state;
  }
  void start(Part& part) {
    part.name = "w" + std::to_string(++started_);
    auto settings = place_.where;
    settings["roles"] = part.roles;
    settings["name"] = part.name;
    settings["key"] = secret_key();
    std::vector<std::string> words{SAGABOX_CRASH_HUB};
    for (const auto& [name, value] : settings) words.push_back(name + "=" + value);
    part.process.emplace(words, folder_.file("log"));
  }

  [[nodiscard]] std::vector<DeliveryRecord> deliveries(const spi::DeliveryFilter& filter) const {
    std::vector<DeliveryRecord> all;
    spi::DeliveryList list{.filter = filter, .rows_max = 1000};
    for (;;) {
      const auto page = admin().deliveries(list).value();
      std::ranges::copy(page, std::back_inserter(all));
      if (page.size() < list.rows_max) return all;
      list.before = page.back().sequence;
    }
  }
  /// `expected`: so many deliveries if the gone endpoint had got all events, too.
  [[nodiscard]] bool all_ended(std::size_t expected) const {
    for (const auto& one : admin().count({}).value()) {
      if (!has_ended(one.state)) return false;
    }
    const auto all = deliveries({});
    auto there = all.size();
    for (const auto& plan : plans_) {
      if (!is_gone(plan)) continue;
      const auto is_of_it = [&](const auto& one) { return one.subscription.str() == plan.id; };
      there -= static_cast<std::size_t>(std::ranges::count_if(all, is_of_it));
      for (const auto& one : producers_) there += one->committed().size();
    }
    return there >= expected;
  }
  [[nodiscard]] JudgedDelivery judged(const DeliveryRecord& record) const {
    JudgedDelivery one{.id = record.id.str(),
                       .event = record.event.str(),
                       .subscription = record.subscription.str(),
                       .generation = record.generation,
                       .state = record.state,
                       .attempt = record.attempt};
    if (record.state == DeliveryState::dead) {
      const auto dead = admin().dead(record.id).value();
      one.has_snapshot = dead && dead->event.message != nullptr;
    }
    for (const auto& attempt : admin().attempts(record.id).value()) {
      one.attempts.push_back({attempt.attempt, attempt.state});
    }
    return one;
  }
  /// A line for each attempt of the delivery that a problem names.
  [[nodiscard]] std::string story_of(const std::string& problem) const {
    std::ostringstream out;
    for (const auto& one : deliveries({})) {
      const auto place = one.event.str() + " to " + one.subscription.str() + " ";
      if (!problem.starts_with(place)) continue;
      out << "  " << delivery_state_name(one.state) << ' ' << one.error << '\n';
      for (const auto& attempt : admin().attempts(one.id).value()) {
        out << "  " << attempt.attempt << ' ' << hub_job_state_name(attempt.state) << " by "
            << attempt.worker << ", " << attempt.resets << " leases lost, status "
            << attempt.result.status << ' ' << attempt.result.error << '\n';
      }
    }
    return out.str();
  }

  testing::SqliteFolder folder_;  // of logs
  Place place_;
  const std::vector<EndpointPlan> plans_;
  const std::uint64_t seed_;
  std::unique_ptr<Random> random_;
  Hub hub_;  // publishes only
  HubEndpoints endpoints_;
  std::vector<std::unique_ptr<HubProducer>> producers_;
  std::vector<Part> processes_;
  std::string lost_;  // names of workers that were killed, quoted
  int started_ = 0;
};

}  // namespace sagabox::crash
