#include "transports/http/signature.hpp"

#include "unit/transports/http/webhook_key.hpp"

#include <gtest/gtest.h>

namespace sagabox::http {
namespace {

// The vectors that the libraries of Standard Webhooks are tested with.
constexpr auto asymmetric = "whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=";
constexpr Signed what{"msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, "{\"test\": 2432232314}"};
constexpr auto symmetric_signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
constexpr auto asymmetric_signature =
    "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==";

std::string signed_by(std::initializer_list<const char*> keys, const Signed& content) {
  SigningKeys parsed;
  for (const auto* key : keys) parsed.push_back(SigningKey::parse(key).value());
  return signatures(parsed, content);
}

TEST(Signature, PublishedVectorOfSymmetricKeys) {
  EXPECT_EQ(signed_by({webhook_key}, what), symmetric_signature);
}

TEST(Signature, PublishedVectorOfEd25519) {
  EXPECT_EQ(signed_by({asymmetric}, what), asymmetric_signature);
}

TEST(Signature, WhileKeysRotateAllSign) {
  EXPECT_EQ(signed_by({webhook_key, asymmetric}, what),
            std::string(symmetric_signature) + " " + asymmetric_signature);
}

TEST(Signature, KeySignsAgainAndAgain) {
  const auto key = SigningKey::parse(webhook_key).value();
  for (int i = 0; i < 3; ++i) {
    std::string signature;
    key->sign(what, signature);
    EXPECT_EQ(signature, symmetric_signature);
  }
}

TEST(Signature, EveryByteOfIdTimeAndBodyCounts) {
  for (const auto* key : {webhook_key, asymmetric}) {
    const auto right = signed_by({key}, what);
    EXPECT_NE(signed_by({key}, {"msg_p5jXN8AQM9LWM0D4loKWxJeK", what.timestamp, what.body}), right);
    EXPECT_NE(signed_by({key}, {what.id, what.timestamp + 1, what.body}), right);
    EXPECT_NE(signed_by({key}, {what.id, what.timestamp, "{\"test\":2432232314}"}), right);
    EXPECT_NE(signed_by({key}, {what.id, what.timestamp, ""}), right);
  }
}

TEST(Signature, WrongKeysAreRefusedAndNeverShown) {
  for (const auto* key :
       {"", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        "whsec_TWZLUTly", "whsk_TWZLUTly", "whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}) {
    const auto parsed = SigningKey::parse(key);
    ASSERT_FALSE(parsed.ok()) << key;
    EXPECT_EQ(parsed.error().code, Code::config_invalid);
    EXPECT_EQ(parsed.error().message.find("MfKQ"), std::string::npos);
    EXPECT_EQ(parsed.error().message.find("TWZL"), std::string::npos);
  }
}

}  // namespace
}  // namespace sagabox::http
