#include "transports/redis/link.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>

namespace sagabox::redis {
namespace {

using Kind = spi::SendResult::Kind;

TEST(RedisWordsTest, ErrorsBlameTheMessageOnlyForWhatIsItsFault) {
  const auto kind = [](std::string_view reply) { return error_meaning(reply).kind; };
  EXPECT_EQ(kind("WRONGTYPE Operation against a key holding the wrong kind of value"),
            Kind::rejected);
  EXPECT_EQ(kind("NOPERM this user has no permissions"), Kind::rejected);
  EXPECT_EQ(kind("OOM command not allowed when used memory > 'maxmemory'."), Kind::busy);
  EXPECT_EQ(kind("BUSY Redis is busy running a script."), Kind::busy);
  for (const auto* reply :
       {"NOAUTH Authentication required.", "READONLY You can't write against a read only replica.",
        "LOADING Redis is loading the dataset in memory", "MISCONF Redis is configured to save",
        "CLUSTERDOWN Hash slot not served", "MOVED 3999 127.0.0.1:6381",
        "NOREPLICAS Not enough good replicas to write."}) {
    EXPECT_EQ(kind(reply), Kind::unreachable) << reply;
  }
  EXPECT_EQ(kind("ERR something new"), Kind::failed);
}

TEST(RedisWordsTest, AnOldServersQuoteOfOurArgumentsIsNotRepeated) {
  const auto result =
      error_meaning("ERR unknown command `XADD`, with args beginning with: `k`, `*`, `hush`, ");
  EXPECT_EQ(result.kind, Kind::unreachable);
  EXPECT_EQ(result.error.find("hush"), std::string::npos);
}

TEST(RedisWordsTest, WordsAreCountedInBytes) {
  std::string out;
  append_words(out, {"AUTH", "", "pässe"});
  EXPECT_EQ(out, "*3\r\n$4\r\nAUTH\r\n$0\r\n\r\n$6\r\npässe\r\n");
}

TEST(RedisWordsTest, XaddSaysItsBoundBeforeTheFields) {
  UlidSource ids(system_clock(), system_random());
  const auto message = std::make_shared<const Message>(
      Message::build({.topic = "t", .payload = bytes("p")}, {}, ids, system_clock()).value());
  const auto table = TableName::parse("orders").value();
  const spi::Parcel parcel{.message = message, .table = &table};
  StreamAddress address;
  address.key = "k";
  std::string out;
  append_xadd(out, parcel, address);
  EXPECT_NE(out.find("XADD\r\n$1\r\nk\r\n$1\r\n*\r\n$4\r\ndata\r\n$1\r\np\r\n"), std::string::npos)
      << out;
  address.maxlen = 10;
  out.clear();
  append_xadd(out, parcel, address);
  EXPECT_NE(out.find("$1\r\nk\r\n$6\r\nMAXLEN\r\n$1\r\n~\r\n$2\r\n10\r\n$1\r\n*\r\n"),
            std::string::npos);
  address.approximate = false;
  out.clear();
  append_xadd(out, parcel, address);
  EXPECT_NE(out.find("MAXLEN\r\n$1\r\n=\r\n"), std::string::npos);
}

TEST(RedisOptionsTest, ComeFromAUrl) {
  const auto plain = Options::from_url("redis://me:secret@example.com:7000/3").value();
  EXPECT_EQ(plain.host, "example.com");
  EXPECT_EQ(plain.port, 7000);
  EXPECT_EQ(plain.username, "me");
  EXPECT_EQ(plain.password, "secret");
  EXPECT_EQ(plain.database, 3U);
  EXPECT_FALSE(plain.tls.enabled);
  const auto secure = Options::from_url("rediss://example.com").value();
  EXPECT_TRUE(secure.tls.enabled);
  EXPECT_EQ(secure.port, 6379);
  EXPECT_EQ(Options::from_url("unix:///run/redis.sock").value().socket_path, "/run/redis.sock");
  EXPECT_FALSE(Options::from_url("redis://example.com/orders").ok());
}

}  // namespace
}  // namespace sagabox::redis
