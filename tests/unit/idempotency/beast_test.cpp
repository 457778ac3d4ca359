#include <sagabox/random.hpp>
#include <sagabox/servers/beast.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace sagabox::beast {
namespace {

class BeastOnceTest : public ::testing::Test {
 protected:
  Response handled(const Request& request) {
    ++calls_;
    if (failing_) throw std::runtime_error("disk full");
    Response response;
    response.result(status_);
    response.set("Location", "/orders/7");
    response.body() = "order " + std::to_string(calls_);
    response.prepare_payload();
    response.keep_alive(request.keep_alive());
    return response;
  }
  Response ask(const std::string& key) {
    Request request(http::verb::post, "/orders", 11, "{}");
    request.set("Idempotency-Key", key);
    return once(keys_, request, {.caller = "ann"},
                [this](const Request& asked) { return handled(asked); });
  }

  testing::FakeClock clock_;
  std::unique_ptr<Random> random_ = seeded_random(3);
  memory::MemoryStore store_{{.clock = &clock_}};
  HttpIdempotency keys_{*store_.idempotency(), {}, *random_};
  unsigned status_ = 201;
  bool failing_ = false;
  int calls_ = 0;
};

TEST_F(BeastOnceTest, HandlerThatThrowsIsCalledAgainForItsKey) {
  failing_ = true;
  EXPECT_THROW(ask("k1"), std::runtime_error);
  failing_ = false;
  EXPECT_EQ(ask("k1").body(), "order 2") << "the key was released at once, without a lease";
  EXPECT_EQ(ask("k1").body(), "order 2");
  EXPECT_EQ(calls_, 2);
}

TEST_F(BeastOnceTest, StatusThatBeastDoesNotKnowIsReplayedAsItWas) {
  status_ = 299;
  ASSERT_EQ(Response(http::status::unknown, 11).result(), http::status::unknown);
  const auto first = ask("k1");
  const auto again = ask("k1");
  EXPECT_EQ(calls_, 1);
  for (const auto& response : {first, again}) {
    EXPECT_EQ(response.result(), http::status::unknown);
    EXPECT_EQ(response.result_int(), 299U);
    EXPECT_EQ(response["Location"], "/orders/7");
    EXPECT_EQ(response.body(), "order 1");
  }
}

}  // namespace
}  // namespace sagabox::beast
