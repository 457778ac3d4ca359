#include "integration/outbox/world.hpp"
#include "support/http_server.hpp"

#include <sagabox/router.hpp>
#include <sagabox/transports/http.hpp>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::integration {
namespace {

constexpr int good_ones = 180;
constexpr int before_the_bad_one_is_sent = 90;

NewMessage draft(std::string_view topic, std::string key) {
  return {.topic = Topic(topic), .key = std::move(key), .payload = json("{}")};
}

/// A webhook that answers one message with a status that asks for less, and takes all others.
class BusyMessageTest : public OutboxWorld, public ::testing::WithParamInterface<unsigned> {
 protected:
  void write_all(Outbox& outbox, std::vector<NewMessage> drafts) {
    store.transaction([&](OwnedTransaction& tx) { return outbox.write_all(tx, std::move(drafts)); })
        .value();
  }

  std::atomic<bool> bad_one_seen = false;
  testing::HttpServer http{[this](const testing::HttpRequest& request) {
    const bool refused = request.header("ce-type") == "hook.bad.v1";
    if (refused) bad_one_seen = true;
    return testing::HttpReply{.status = refused ? GetParam() : 204};
  }};
};

TEST_P(BusyMessageTest, IsToBlameAndStarvesNobody) {
  auto options = watched();
  options.retry.attempts_max = 2;
  options.sink =
      Router::open(
          {.routes = {{.topic = "hook.**", .to = {{http.url("/hook"), {{"concurrency", "1"}}}}}},
           .transports = {{"http", http::open({.allow = {"127.0.0.0/8"}}).value()}},
           .metrics = &metrics,
           .log = &log})
          .value();
  auto outbox = Outbox::single_process(store, std::move(options)).value();
  std::vector<NewMessage> first = {draft("hook.bad.v1", "k"), draft("hook.good.v1", "k")};
  std::vector<NewMessage> later;
  for (int number = 1; number < good_ones; ++number) {
    auto& drafts = number < before_the_bad_one_is_sent ? first : later;
    drafts.push_back(draft("hook.good.v1", number % 2 == 0 ? "" : "k" + std::to_string(number)));
  }
  write_all(outbox, std::move(first));
  outbox.start().value();
  // It is told from a destination that is down by what arrives after it has failed.
  ASSERT_TRUE(eventually([&] { return bad_one_seen.load(); }));
  write_all(outbox, std::move(later));
  EXPECT_TRUE(eventually([&] { return stats().done >= good_ones - 1; }))
      << stats().done << " of " << good_ones - 1 << " that do not wait for its key";
  ASSERT_TRUE(settles_to(good_ones, 1)) << "it dies, and its key goes on";
  for (const auto& row : rows()) {
    const bool dead = row.state == memory::Inspected::State::dead;
    EXPECT_EQ(row.row.attempts, dead ? 2U : 1U);
    if (!dead) continue;
    EXPECT_NE(row.error.find(std::to_string(GetParam())), std::string::npos) << row.error;
  }
}

INSTANTIATE_TEST_SUITE_P(Statuses, BusyMessageTest, ::testing::Values(503U, 429U, 408U, 425U),
                         [](const auto& status) { return std::to_string(status.param); });

}  // namespace
}  // namespace sagabox::integration
