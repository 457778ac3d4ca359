#include "integration/transports/http/world.hpp"
#include "support/outside_program.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

namespace sagabox::testing {
namespace {

constexpr auto symmetric = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr auto rotated = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazfgh2Iu";
constexpr auto seed = "VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=";
const auto asymmetric = std::string("whsk_") + seed;

/// npm's `cloudevents` and `standardwebhooks` look at what arrives.
class HttpOutside : public HttpTransportTest {
 protected:
  void SetUp() override {
    if (const auto problem = OutsideProgram::problem(); !problem.empty()) GTEST_SKIP() << problem;
    receiver_ = std::make_unique<OutsideProgram>(
        std::vector<std::string>{"http_receiver.mjs", symmetric, seed});
    const auto said = receiver_->line();
    ASSERT_FALSE(said.empty()) << "the receiver did not start";
    port_ = boost::json::parse(said).at("port").to_number<int>();
    open();
  }

  boost::json::object understood(const spi::AddressSettings& settings, NewMessage draft = {}) {
    const auto result =
        deliver(address("http://127.0.0.1:" + std::to_string(port_) + "/", settings), draft);
    EXPECT_EQ(result.kind, Kind::delivered) << result.error;
    const auto said = receiver_->line();
    return said.empty() ? boost::json::object() : boost::json::parse(said).as_object();
  }

  static std::string text(const boost::json::value& value) {
    return value.is_string() ? std::string(value.as_string()) : "not a text";
  }

 private:
  std::unique_ptr<OutsideProgram> receiver_;
  int port_ = 0;
};

TEST_F(HttpOutside, StandardwebhooksVerifiesOurSignature) {
  for (const auto* mode : {"binary", "structured"}) {
    const auto said = understood({{"mode", mode}, {"secret", symmetric}},
                                 {.payload = json(R"({"to": "you", "é": 1.0})")});
    EXPECT_TRUE(said.at("symmetric").is_bool()) << text(said.at("symmetric"));
    EXPECT_FALSE(said.at("asymmetric").as_bool());
  }
}

TEST_F(HttpOutside, Ed25519SignatureIsVerifiedWithThePublicKey) {
  const auto said = understood({{"secret", asymmetric}}, {.payload = bytes("\xff\x01 any")});
  EXPECT_TRUE(said.at("asymmetric").as_bool());
}

TEST_F(HttpOutside, WhileAKeyRotatesBothSidesOfTheChangeVerify) {
  const auto said =
      understood({{"secrets", std::string(rotated) + " " + symmetric + " " + asymmetric}});
  EXPECT_TRUE(said.at("symmetric").is_bool()) << text(said.at("symmetric"));
  EXPECT_TRUE(said.at("asymmetric").as_bool());
}

TEST_F(HttpOutside, AnotherKeyDoesNotVerify) {
  const auto said = understood({{"secret", rotated}});
  EXPECT_FALSE(said.at("symmetric").is_bool());
  EXPECT_FALSE(said.at("asymmetric").as_bool());
}

TEST_F(HttpOutside, CloudeventsReadsBothModes) {
  for (const auto* mode : {"binary", "structured"}) {
    const auto said = understood(
        {{"mode", mode}},
        {.topic = "orders.order.placed.v1",
         .key = "customer-17",
         .payload = json(R"({"id": 17, "lines": [1, 2]})"),
         .tenant = "acme",
         .aggregate_id = "o-17",
         .trace = {.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
         .id = "01JC9Y3B6W8QK3T5V0ZC2N7A4F"});
    ASSERT_TRUE(said.at("event").is_object()) << mode << ": " << text(said.at("event"));
    const auto& event = said.at("event").as_object();
    EXPECT_EQ(text(event.at("specversion")), "1.0");
    EXPECT_EQ(text(event.at("id")), "01JC9Y3B6W8QK3T5V0ZC2N7A4F");
    EXPECT_EQ(text(event.at("type")), "orders.order.placed.v1");
    EXPECT_EQ(text(event.at("source")), "/sagabox/orders");
    EXPECT_EQ(text(event.at("subject")), "o-17");
    EXPECT_EQ(text(event.at("partitionkey")), "customer-17");
    EXPECT_EQ(text(event.at("tenant")), "acme");
    EXPECT_EQ(text(event.at("outboxsequence")), "17");
    EXPECT_EQ(text(event.at("traceparent")),
              "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    EXPECT_EQ(event.at("data").at("id").to_number<int>(), 17) << mode;
  }
}

TEST_F(HttpOutside, CloudeventsReadsBytesFromAStructuredEvent) {
  const auto said = understood(
      {{"mode", "structured"}},
      {.payload = bytes(std::string("\0\xff", 2)), .content_type = "application/octet-stream"});
  ASSERT_TRUE(said.at("event").is_object()) << text(said.at("event"));
  EXPECT_EQ(text(said.at("event").at("data_base64")), "AP8=");
}

}  // namespace
}  // namespace sagabox::testing
