#include "delivery/secret_box.hpp"

#include "core/base64.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::delivery {
namespace {

std::string from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    bytes += static_cast<char>(digit(text[at]) * 16 + digit(text[at + 1]));
  }
  return bytes;
}

std::string key_text(std::string_view id, std::string_view bytes) {
  std::string text(id);
  text += ':';
  append_base64(bytes, text);
  return text;
}

/// Says these numbers.
class ScriptedRandom final : public Random {
 public:
  explicit ScriptedRandom(std::vector<std::uint64_t> numbers) : numbers_(std::move(numbers)) {}
  std::uint64_t next() override { return numbers_.at(at_++); }

 private:
  std::vector<std::uint64_t> numbers_;
  std::size_t at_ = 0;
};

const std::string first_key = key_text("k1", std::string(32, '1'));
const std::string second_key = key_text("k2", std::string(32, '2'));

class SecretBoxTest : public ::testing::Test {
 protected:
  static SecretBox box(const std::string& keys) { return SecretBox::create(keys).value(); }
  std::string sealed(const SecretBox& by, std::string_view secret = "whsec_abc",
                     std::string_view context = "s1") {
    return by.seal(secret, context, *random).value();
  }
  std::unique_ptr<Random> random = seeded_random(5);
};

// Test cases 13, 14 and 16 of "The Galois/Counter Mode of Operation (GCM)", McGrew and Viega;
// 13 has no text and is left out, because a secret has some.
TEST_F(SecretBoxTest, GivesTheKnownAnswers) {
  const auto zeros = box(key_text("z", std::string(32, '\0')));
  ScriptedRandom zero({0, 0});
  EXPECT_EQ(zeros.seal(std::string(16, '\0'), "", zero).value(),
            key_text("v1:z", std::string(12, '\0') + from_hex("cea7403d4d606b6e074ec5d3baf39d18"
                                                              "d0d1c8a799996bf0265b98b5d48ab919")));

  const auto known = box(
      key_text("k", from_hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")));
  const auto nonce = from_hex("cafebabefacedbaddecaf888");
  const auto context = from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
  const auto plain = from_hex(
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
      "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
  const auto answer = nonce + from_hex(
                                  "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c9"
                                  "7598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
                                  "c5f61e6393ba7a0abcc9f662"
                                  "76fc6ece0f4e1768cddf8853bb2d551b");
  ScriptedRandom scripted({0xaddbcefabebafeca, 0x88f8cade});
  EXPECT_EQ(known.seal(plain, context, scripted).value(), key_text("v1:k", answer));
  EXPECT_EQ(known.open(key_text("v1:k", answer), context).value(), plain);
}

TEST_F(SecretBoxTest, OpensWhatItSealed) {
  const auto keys = box(first_key);
  for (const auto& secret : {std::string("x"), std::string("\0\xff", 2), std::string(4096, 's')}) {
    const auto text = sealed(keys, secret);
    EXPECT_TRUE(text.starts_with("v1:k1:"));
    EXPECT_EQ(keys.open(text, "s1").value(), secret);
  }
  EXPECT_NE(sealed(keys), sealed(keys));  // another nonce each
  EXPECT_EQ(sealed(keys).find("whsec"), std::string::npos);
}

TEST_F(SecretBoxTest, SecretsAreBounded) {
  const auto keys = box(first_key);
  EXPECT_EQ(keys.seal("", "s1", *random).error().code, Code::schema_validation_failed);
  EXPECT_EQ(keys.seal(std::string(4097, 's'), "s1", *random).error().code,
            Code::schema_validation_failed);
}

TEST_F(SecretBoxTest, RefusesAnotherKeyAndAnotherContext) {
  const auto text = sealed(box(first_key));
  const auto same_id = box(key_text("k1", std::string(32, 'x')));
  EXPECT_EQ(same_id.open(text, "s1").error().code, Code::auth_denied);
  const auto unknown = box(second_key).open(text, "s1");
  EXPECT_EQ(unknown.error().code, Code::config_invalid);
  EXPECT_NE(unknown.error().message.find("\"k1\""), std::string::npos);
  EXPECT_EQ(box(first_key).open(text, "s2").error().code, Code::auth_denied);
  EXPECT_EQ(box(first_key).open(text, "").error().code, Code::auth_denied);
}

TEST_F(SecretBoxTest, RefusesEveryChangedBit) {
  const auto keys = box(first_key);
  const auto text = sealed(keys);
  const std::string prefix = "v1:k1:";
  const auto body = from_base64(std::string_view(text).substr(prefix.size())).value();
  for (std::size_t bit = 0; bit < 8 * body.size(); ++bit) {
    auto changed = body;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(keys.open(key_text("v1:k1", changed), "s1").error().code, Code::auth_denied) << bit;
  }
  for (std::size_t length = 0; length < body.size(); ++length) {
    EXPECT_FALSE(keys.open(key_text("v1:k1", body.substr(0, length)), "s1").ok()) << length;
  }
  EXPECT_FALSE(keys.open(key_text("v1:k1", body + "x"), "s1").ok());
}

TEST_F(SecretBoxTest, RefusesWhatIsNotSealed) {
  const auto keys = box(first_key);
  for (const auto* const text : {"", "whsec_abc", "v1:", "v1:k1", "v1:k1:", "v1:k1:!!!", "v2:k1:AA",
                                 "v1:k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="}) {
    const auto opened = keys.open(text, "s1");
    ASSERT_FALSE(opened.ok()) << text;
    EXPECT_EQ(opened.error().message.find("whsec"), std::string::npos);
  }
}

TEST_F(SecretBoxTest, KeysAreReplacedOneAfterTheOther) {
  const auto old = sealed(box(first_key));
  const auto both = box(second_key + ", " + first_key);
  EXPECT_EQ(both.open(old, "s1").value(), "whsec_abc");
  EXPECT_FALSE(both.is_sealed_by_first(old));
  const auto fresh = sealed(both);
  EXPECT_TRUE(fresh.starts_with("v1:k2:"));
  EXPECT_TRUE(both.is_sealed_by_first(fresh));
  EXPECT_EQ(box(second_key).open(fresh, "s1").value(), "whsec_abc");
}

TEST_F(SecretBoxTest, KeysThatAreWrongAreNamedAndNotRepeated) {
  const auto refusal = [](const std::string& keys) {
    const auto made = SecretBox::create(keys);
    if (made.ok()) return std::string("accepted");
    EXPECT_EQ(made.error().code, Code::config_invalid);
    EXPECT_EQ(made.error().message.find("MTEx"), std::string::npos);
    return made.error().message;
  };
  EXPECT_EQ(refusal("  "), "hub.secret_key: is empty; write ID:BASE64 of 32 random bytes");
  EXPECT_EQ(refusal(first_key.substr(3)), "hub.secret_key: key 1 has no id; write ID:BASE64");
  EXPECT_EQ(refusal("a b"), "hub.secret_key: key 1 has no id; write ID:BASE64");
  EXPECT_EQ(refusal(first_key + " k/2:AAAA"),
            "hub.secret_key: key 2 has an id that is not 1 to 32 letters, digits, - or _; write "
            "ID:BASE64");
  EXPECT_EQ(refusal(key_text("k", std::string(31, '1'))),
            "hub.secret_key: key 1 is not 32 bytes in base64; make one with: sagabox hub key "
            "--out FILE");
  EXPECT_EQ(refusal(first_key + "," + first_key), "hub.secret_key: the id \"k1\" is there twice");
}

TEST(SecretBox, ANewKeyIsOneThatItTakes) {
  const auto random = seeded_random(1);
  const auto one = SecretBox::new_key("k1", *random).value();
  EXPECT_TRUE(one.starts_with("k1:"));
  EXPECT_NE(one, SecretBox::new_key("k1", *random).value());
  EXPECT_TRUE(SecretBox::create(one).ok());
  EXPECT_EQ(SecretBox::new_key("k 1", *random).error().message,
            "\"k 1\": an id has 1 to 32 letters, digits, - or _, such as k1");
}

}  // namespace
}  // namespace sagabox::delivery
