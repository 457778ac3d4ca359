#include "conformance/hub/hub_conformance.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <thread>

namespace sagabox::conformance {
namespace {

using std::chrono::seconds;
using Ids = std::vector<std::string>;
using Attempts = std::vector<spi::AttemptOf>;

std::vector<std::string> leased_ids(const std::vector<spi::LeasedJob>& jobs) {
  std::vector<std::string> ids;
  for (const auto& job : jobs) ids.push_back(job.job.delivery.str());
  return ids;
}

TEST_P(HubConformance, LeasedJobHasAllThatItsAttemptNeeds) {
  const auto owner = own_deliveries();
  const auto before = now();
  const auto running = with_job(owner, added("a", "k"));
  const auto mine = token();
  const auto leased = lease(mine);
  ASSERT_EQ(leased.size(), 1U);
  const auto& [job, delivery, happened] = leased[0];
  EXPECT_EQ(job.delivery, running.id);
  EXPECT_EQ(job.attempt, 1U);
  EXPECT_EQ(job.shard, running.shard);
  EXPECT_EQ(job.subscription, running.subscription);
  EXPECT_EQ(job.state, HubJobState::leased);
  EXPECT_GE(job.attempt_at, before);
  EXPECT_EQ(job.resets, 0U);
  EXPECT_EQ(job.worker, "worker-1");
  ASSERT_TRUE(job.lease_until);
  EXPECT_GE(*job.lease_until, before + seconds(60));
  EXPECT_EQ(job.ended_at, std::nullopt);
  EXPECT_EQ(delivery.id, running.id);
  EXPECT_EQ(delivery.event, running.event);
  EXPECT_EQ(delivery.attempt, 1U);
  EXPECT_EQ(delivery.key, "k");
  EXPECT_EQ(happened.id, running.event);
  ASSERT_NE(happened.message, nullptr);
  EXPECT_EQ(happened.message->payload().view(), R"({"n":1})");
  EXPECT_EQ(happened.message->topic(), order_placed);
  EXPECT_EQ(happened.message->trace().correlation_id, "c-1");
  // A worker never writes deliveries.
  EXPECT_EQ(look_at(running.id).state, DeliveryState::in_progress);
  EXPECT_TRUE(lease(token()).empty());
}

TEST_P(HubConformance, JobsWhoseEventOrDeliveryIsGoneAreLeasedSoThatTheyEnd) {
  const auto owner = own_deliveries();
  auto orphan = delivery_to(event(), "a", shards());
  ASSERT_EQ(deliveries().add(std::span(&orphan, 1)).value(), 1U);
  orphan = with_job(owner, look_at(orphan.id));
  auto lost = orphan;
  lost.id = DeliveryId::parse("gone").value();
  deliveries().make_jobs(std::array{job_of(lost)}).value();
  const auto mine = token();
  const auto leased = lease(mine);
  ASSERT_EQ(leased.size(), 2U);
  for (const auto& one : leased) {
    EXPECT_EQ(one.delivery.id, one.job.delivery);
    EXPECT_EQ(one.delivery.subscription.view(), "a");
    EXPECT_EQ(one.event.message, nullptr);
  }
  EXPECT_TRUE(finish(mine, orphan, failure(0)));
  EXPECT_TRUE(finish(mine, lost, failure(0)));
  EXPECT_EQ(deliveries().ended(orphan.shard, 10).value().size(), 2U);
}

TEST_P(HubConformance, AttemptHasOneJob) {
  const auto owner = own_deliveries();
  const auto running = with_job(owner, added("a"));
  const auto mine = token();
  EXPECT_EQ(lease(mine).size(), 1U);
  deliveries().make_jobs(std::array{job_of(running), job_of(running)}).value();
  EXPECT_TRUE(lease(token()).empty());
  EXPECT_TRUE(finish(mine, running, success()));
  deliveries().make_jobs(std::array{job_of(running)}).value();
  EXPECT_TRUE(lease(token()).empty());
  EXPECT_EQ(hub_admin().attempts(running.id).value().size(), 1U);
}

TEST_P(HubConformance, AttemptsWithoutAJobAreFound) {
  const auto owner = own_deliveries();
  const auto all = added(2, "a");
  const auto with = with_job(owner, all[0]);
  const auto without = begun(owner, all[1]);
  const std::array asked{of(with), of(without), next_attempt(with)};
  EXPECT_EQ(deliveries().without_job(asked).value(), (Attempts{of(without), next_attempt(with)}));
  EXPECT_TRUE(deliveries().without_job({}).value().empty());
}

TEST_P(HubConformance, JobsAreLeasedOldestFirst) {
  const auto owner = own_deliveries();
  const auto all = added(3, "a");
  Ids expected;
  for (const auto& at : {2, 0, 1}) {
    const auto& one = all[static_cast<std::size_t>(at)];
    expected.push_back(with_job(owner, one).id.str());
    fixture_->advance_time(seconds(1));
  }
  EXPECT_EQ(leased_ids(lease(token(), 2)), (Ids{expected[0], expected[1]}));
  EXPECT_EQ(leased_ids(lease(token(), 2)), Ids{expected[2]});
}

TEST_P(HubConformance, PayloadsOfALeaseAreBounded) {
  const auto owner = own_deliveries();
  Ids expected;
  for (const auto& one : added(4, "a")) {
    expected.push_back(with_job(owner, one).id.str());
    fixture_->advance_time(seconds(1));
  }
  const auto bytes = stored_event().message->payload().size();
  const auto leased = [&](std::size_t bytes_max) {
    return leased_ids(jobs().lease("w", token(), seconds(60), 10, bytes_max).value());
  };
  EXPECT_EQ(leased(2 * bytes), (Ids{expected[0], expected[1]}));
  EXPECT_EQ(leased(0), Ids{expected[2]}) << "one at least";
  EXPECT_EQ(leased(2 * bytes), Ids{expected[3]});
}

TEST_P(HubConformance, WorkersLeaseDifferentJobs) {
  const auto owner = own_deliveries();
  constexpr std::size_t count = 40;
  for (const auto& one : added(count, "a")) with_job(owner, one);
  std::array<std::vector<spi::LeasedJob>, 4> taken;
  {
    std::vector<std::thread> workers;
    for (std::size_t w = 0; w < taken.size(); ++w) {
      workers.emplace_back([&, w] {
        // What others are leasing at the moment is left out: ask again.
        for (int call = 0; call < 30; ++call) {
          auto more = jobs().lease("w", token(), seconds(60), 3).value();
          std::ranges::move(more, std::back_inserter(taken[w]));
        }
      });
    }
    for (auto& worker : workers) worker.join();
  }
  std::multiset<std::string> all;
  for (const auto& part : taken) {
    for (const auto& id : leased_ids(part)) all.insert(id);
  }
  EXPECT_EQ(all.size(), count);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), count);
}

TEST_P(HubConformance, ResultIsWrittenOnceUnderItsLease) {
  const auto owner = own_deliveries();
  const auto running = with_job(owner, added("a"));
  const auto mine = token();
  lease(mine);
  EXPECT_FALSE(finish(token(), running, success()));
  const auto before = now();
  EXPECT_TRUE(finish(mine, running, failure(503)));
  // Repeated after a lost reply: it is there, and the first result stays.
  EXPECT_TRUE(finish(mine, running, success()));
  const auto attempts = hub_admin().attempts(running.id).value();
  ASSERT_EQ(attempts.size(), 1U);
  const auto& job = attempts[0];
  EXPECT_EQ(job.state, HubJobState::failed);
  EXPECT_EQ(job.worker, "worker-1");
  ASSERT_TRUE(job.ended_at);
  EXPECT_GE(*job.ended_at, before);
  const auto& result = job.result;
  EXPECT_FALSE(result.completed);
  EXPECT_EQ(result.code, Code::provider_rejected);
  EXPECT_EQ(result.error, "answered 503");
  EXPECT_EQ(result.status, 503);
  EXPECT_EQ(result.answer, failure().answer);
  EXPECT_EQ(result.retry_after, Duration(seconds(7)));
  EXPECT_EQ(result.took, Duration(std::chrono::milliseconds(30)));
  // The delivery is its owner's.
  EXPECT_EQ(look_at(running.id).state, DeliveryState::in_progress);
}

TEST_P(HubConformance, OneFinishMayNameManyJobs) {
  const auto owner = own_deliveries();
  const auto all = added(3, "a");
  std::vector<spi::FinishedJob> finished;
  for (const auto& one : all) {
    finished.push_back({of(with_job(owner, one)), success()});
    fixture_->advance_time(seconds(1));
  }
  const auto mine = token();
  EXPECT_EQ(lease(mine, 2).size(), 2U);
  finished.push_back({{DeliveryId::parse("unknown").value(), 1}, success()});
  const auto counted = jobs().finish(mine, finished).value();
  EXPECT_EQ(counted, (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(deliveries().ended(all[0].shard, 10).value().size(), 2U);
  EXPECT_TRUE(jobs().finish(mine, {}).value().empty());
}

TEST_P(HubConformance, ResultsAreKeptWithinTheirBounds) {
  const auto owner = own_deliveries();
  const auto running = with_job(owner, added("a"));
  const auto mine = token();
  lease(mine);
  auto result = failure();
  result.answer = std::string(5000, 'a');
  result.error = std::string(5000, 'e');
  result.retry_after.reset();
  EXPECT_TRUE(finish(mine, running, result));
  const auto kept = hub_admin().attempts(running.id).value().at(0).result;
  EXPECT_EQ(kept.answer, std::string(job_answer_bytes_max, 'a'));
  EXPECT_EQ(kept.error, std::string(1024, 'e'));
  EXPECT_EQ(kept.retry_after, std::nullopt);
}

TEST_P(HubConformance, LostLeaseIsResetAndFailsTheJobAtTheThirdTime) {
  const auto owner = own_deliveries();
  const auto running = with_job(owner, added("a"));
  LeaseToken mine;
  for (std::uint32_t round = 1; round <= job_resets_max; ++round) {
    mine = token();
    ASSERT_EQ(lease(mine, 10, seconds(30)).size(), 1U) << round;
    EXPECT_EQ(jobs().reset(10).value().reset, 0U);
    fixture_->advance_time(seconds(31));
    const auto reply = jobs().reset(10).value();
    EXPECT_EQ(reply.reset, round < job_resets_max ? 1U : 0U);
    EXPECT_EQ(reply.failed, round < job_resets_max ? 0U : 1U);
    // It is another worker's now, or nobody's.
    EXPECT_FALSE(finish(mine, running, success()));
  }
  EXPECT_TRUE(lease(token()).empty());
  const auto job = hub_admin().attempts(running.id).value().at(0);
  EXPECT_EQ(job.state, HubJobState::failed);
  EXPECT_EQ(job.resets, job_resets_max);
  EXPECT_EQ(job.result.code, Code::tx_lease_lost);
  EXPECT_NE(job.result.error, "");
  EXPECT_EQ(deliveries().ended(running.shard, 10).value().size(), 1U);
  // The cleaner never touches a delivery.
  EXPECT_EQ(look_at(running.id).state, DeliveryState::in_progress);
  EXPECT_EQ(jobs().reset(10).value().failed, 0U);
}

TEST_P(HubConformance, LostLeasesSayWhomTheyAreAbout) {
  const auto owner = own_deliveries();
  const auto running = with_job(owner, added("a"));
  for (std::uint32_t round = 1; round <= job_resets_max; ++round) {
    ASSERT_EQ(lease(token(), 10, seconds(30)).size(), 1U) << round;
    EXPECT_TRUE(jobs().reset(10).value().jobs.empty());
    fixture_->advance_time(seconds(31));
    const auto lost = jobs().reset(10).value().jobs;
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].of, (spi::AttemptOf{running.id, 1}));
    EXPECT_EQ(lost[0].failed, round == job_resets_max);
    EXPECT_NE(lost[0].worker, "");
    EXPECT_EQ(lost[0].subscription, running.subscription);
    EXPECT_EQ(lost[0].event, running.event);
    EXPECT_EQ(lost[0].tenant, running.tenant);
    EXPECT_EQ(lost[0].correlation_id, running.correlation_id);
    EXPECT_EQ(lost[0].delivery_state, DeliveryState::in_progress);
  }
}

TEST_P(HubConformance, ResetsAreBoundedAndOldestFirst) {
  const auto owner = own_deliveries();
  const auto all = added(3, "a");
  for (const auto& one : all) {
    with_job(owner, one);
    fixture_->advance_time(seconds(1));
    lease(token(), 1, seconds(30));
  }
  fixture_->advance_time(seconds(40));
  EXPECT_EQ(jobs().reset(2).value().reset, 2U);
  EXPECT_EQ(leased_ids(lease(token())), (Ids{all[0].id.str(), all[1].id.str()}));
  EXPECT_EQ(jobs().reset(2).value().reset, 1U);
  EXPECT_EQ(leased_ids(lease(token())), Ids{all[2].id.str()});
}

TEST_P(HubConformance, LeaseThatRanOutCountsUntilItIsTakenAway) {
  const auto owner = own_deliveries();
  const auto running = with_job(owner, added("a"));
  const auto mine = token();
  lease(mine, 10, seconds(30));
  fixture_->advance_time(seconds(60));
  EXPECT_TRUE(finish(mine, running, success()));
  EXPECT_EQ(jobs().reset(10).value().reset, 0U);
  EXPECT_EQ(hub_admin().attempts(running.id).value().at(0).state, HubJobState::completed);
}

TEST_P(HubConformance, EndedJobsAreShownUntilTheyWereSeen) {
  const auto owner = own_deliveries();
  const auto all = added(3, "a");
  std::vector<DeliveryRecord> running;
  for (const auto& one : all) running.push_back(with_job(owner, one));
  const auto mine = token();
  lease(mine);
  const auto shard = all[0].shard;
  EXPECT_TRUE(deliveries().ended(shard, 10).value().empty());
  EXPECT_TRUE(finish(mine, running[1], failure(503)));
  fixture_->advance_time(seconds(1));
  EXPECT_TRUE(finish(mine, running[0], success()));
  const auto ended = deliveries().ended(shard, 10).value();
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0].of, of(running[1]));
  EXPECT_EQ(ended[0].subscription, running[1].subscription);
  EXPECT_EQ(ended[0].result.status, 503);
  EXPECT_EQ(ended[0].result.retry_after, Duration(seconds(7)));
  EXPECT_FALSE(ended[0].result.completed);
  EXPECT_EQ(ended[1].of, of(running[0]));
  EXPECT_TRUE(ended[1].result.completed);
  EXPECT_LT(ended[0].ended_at, ended[1].ended_at);
  EXPECT_EQ(deliveries().ended(shard, 1).value().size(), 1U);
  const Shard other{static_cast<std::uint16_t>(shard.value + 1)};
  EXPECT_TRUE(deliveries().ended(other, 10).value().empty());
  // What counts still is shown, whoever says that he has seen it.
  deliveries().seen(std::array{of(running[0]), of(running[1])}).value();
  EXPECT_EQ(deliveries().ended(shard, 10).value().size(), 2U);
  change(owner, {ends(running[1], DeliveryState::pending)});
  // One that has not ended cannot be seen.
  deliveries().seen(std::array{of(running[1]), of(running[2])}).value();
  deliveries().seen(std::array{of(running[1])}).value();
  fixture_->advance_time(seconds(1));
  EXPECT_TRUE(finish(mine, running[2], success()));
  const auto rest = deliveries().ended(shard, 10).value();
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].of, of(running[0]));
  EXPECT_EQ(rest[1].of, of(running[2]));
}

TEST_P(HubConformance, WaitingForJobsEndsByJobOrWakeOrTime) {
  std::thread waker([&] { jobs().wake(); });
  jobs().wait(seconds(60));
  waker.join();
  const auto owner = own_deliveries();
  with_job(owner, added("a"));
  if (events().capabilities().notifies) jobs().wait(seconds(60));
  jobs().wait({});
}

}  // namespace
}  // namespace sagabox::conformance
