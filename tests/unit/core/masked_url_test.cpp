#include "core/masked_url.hpp"

#include "core/error_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sagabox {
namespace {

using Cases = std::vector<std::pair<std::string, std::string>>;

void expect_masked(const Cases& cases) {
  for (const auto& [text, expected] : cases) EXPECT_EQ(masked_url(text), expected) << text;
}

TEST(MaskedUrl, ShowsWhatIsNotSecret) {
  for (const std::string text :
       {"", "orders", "kafka:orders", "sqlite:/var/lib/sagabox/orders.db", "sqlite:./a b.db",
        "memory:", "https://hooks.example.com/invoices", "https://hooks.example.com:8443/a/b.c",
        "postgres://db/orders", "postgres://db:5432,standby:5433/orders?sslmode=verify-full",
        "postgres://%2Frun%2Fpostgresql/orders", "http://[::1]:4318", "http://[fe80::1%25eth0]/x",
        "unix:///run/redis.sock", "nats:orders.placed.v1", "https://bücher.example/x",
        "postgres:///orders?host=db&connect_timeout=5", "host=db dbname=orders port=5432"}) {
    EXPECT_EQ(masked_url(text), text);
  }
}

TEST(MaskedUrl, MasksLogins) {
  expect_masked({
      {"https://user:hunter2@x.example/z", "https://***@x.example/z"},
      {"https://hunter2@x.example/z", "https://***@x.example/z"},
      {"postgres://me:hunter2@db:5432/orders", "postgres://me:***@db:5432/orders"},
      {"postgresql://me:hunter2@a:1,b:2/x", "postgresql://me:***@a:1,b:2/x"},
      {"redis://:hunter2@cache:6379/0", "redis://***@cache:6379/0"},
      {"amqps://me:hun%40ter2@mq/vhost", "amqps://me:***@mq/vhost"},
      {"https://a:hun@ter2@x.example/", "https://***@x.example/"},
      {"postgres://me:hun/ter2@db/x", "postgres://me:***@db/x"},
      {"nats://hunter2@mq:4222", "nats://***@mq:4222"},
      {"https:/user:hunter2@x.example/z", "***@x.example/z"},
      {"user:hunter2@x.example/z", "***@x.example/z"},
      {"//user:hunter2@x.example/z", "***@x.example/z"},
      {"kafka:user:hunter2@orders", "***@orders"},
  });
}

TEST(MaskedUrl, MasksWhatCannotBeTold) {
  expect_masked({
      {"https://user:hunter2", "https://***"},
      {"https://user:hunter2/x", "https://***"},
      {"https://user%3Ahunter2%40x.example/", "https://***"},
      {"postgres://me:hun?ter2@db/x", "postgres://***"},
      {"https://x.example/?token=a@b/hunter2", "https://***"},
      {"password=hunter2 https://x.example/", "***"},
      {"https://x.example:hunter2:443/", "https://***"},
      {"http://[::1/hunter2", "http://***"},
      {"kafka:password=hun@ter2", "***"},
  });
}

TEST(MaskedUrl, MasksParameters) {
  expect_masked({
      {"postgres://db/x?sslmode=require&password=hunter2",
       "postgres://db/x?sslmode=require&password=***"},
      {"postgres://db/x?PASSWORD=hunter2&SSLMODE=require",
       "postgres://db/x?PASSWORD=***&SSLMODE=require"},
      {"postgres://db/x?sslpassword=hunter2", "postgres://db/x?sslpassword=***"},
      {"https://x.example/?token=hunter2", "https://x.example/?token=***"},
      {"https://x.example/?access_token=a&api_key=b&secret=c&sig=d",
       "https://x.example/?access_token=***&api_key=***&secret=***&sig=***"},
      {"https://x.example/?code=hunter2", "https://x.example/?***"},
      {"https://x.example/?hunter2", "https://x.example/?***"},
      {"https://x.example/?aHVudGVyMg==", "https://x.example/?***"},
      {"https://x.example/?pass%77ord=hunter2", "https://x.example/?***"},
      {"https://x.example/?token=hun&ter2=x;ter2", "https://x.example/?token=***&***;***"},
      {"https://x.example/?host=user:hunter2", "https://x.example/?***"},
      {"https://x.example/#access_token=hunter2", "https://x.example/#***"},
      {"https://x.example/?a=b#hunter2", "https://x.example/?***#***"},
      {"https://x.example/p;token=hun,ter2/x", "https://x.example/p;token=***"},
      {"kafka:orders?token=hunter2", "kafka:orders?token=***"},
      {"x.example/z?token=hunter2", "x.example/z?token=***"},
  });
}

TEST(MaskedUrl, MasksConnectionStrings) {
  expect_masked({
      {"host=db user=me password=hunter2", "host=db user=me password=***"},
      {"host=db password='hun ter2' dbname=x", "host=db password=*** *** dbname=x"},
      {"password = hunter2 host=db", "*** *** *** host=db"},
      {"host=db password=hun@ter2", "host=db password=***"},
      {"PASSWORD=hun'ter2,x", "PASSWORD=***"},
      {"sslpassword=hunter2\nhost=db", "sslpassword=*** host=db"},
  });
}

TEST(MaskedTarget, ShowsOfAPathOnlyWhatAreWords) {
  const Cases cases{
      {"https://hooks.example.com/services/T0001AB/B0002CD/aB3dE5gH7jK9",
       "https://hooks.example.com/services/***"},
      {"https://discord.example/api/webhooks/123456789012345678/AbC-dEf_0",
       "https://discord.example/api/webhooks/***"},
      {"https://zap.example/hooks/catch/123456/abc9de/", "https://zap.example/hooks/catch/***"},
      {"https://api.example/bot123456:AAF-xyz/sendMessage", "https://api.example/***"},
      {"https://x.example/0af7651916cd43dd8448eb211c80319c", "https://x.example/***"},
      {"https://x.example/hooks/bcdfghjklmnp", "https://x.example/hooks/***"},
      {"https://x.example/hooks/AKIA", "https://x.example/hooks/***"},
      {"https://x.example/hooks/aGVsbG8=", "https://x.example/hooks/***"},
      {"https://x.example/hooks?token=hunter2", "https://x.example/hooks?token=***"},
      {"https://x.example/k3y0f/a?token=hunter2", "https://x.example/***"},
      {"https://user:hunter2@x.example/hooks", "https://***@x.example/hooks"},
      {"https://x.example/p;token=hunter2/x", "https://x.example/***"},
      {"HTTPS://x.example/T000/x", "HTTPS://x.example/***"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(masked_target(text), expected) << text;
  for (const std::string text :
       {"https://hooks.example.com/shop", "http://127.0.0.1:9000/hooks", "https://x.example",
        "https://x.example/", "https://x.example/v1/web-hooks/order_placed/shop-7",
        "https://x.example/tenants/17/orders.json", "https://x.example//double/",
        "nats:orders.T000.x", "kafka:T0001AB"}) {
    EXPECT_EQ(masked_target(text), text);
  }
}

/// Wherever the secret stands and whatever stands around it: it is not shown.
RC_GTEST_PROP(MaskedUrl, NeverShowsASecret, ()) {
  const auto noise = [] {
    return *rc::gen::container<std::string>(
        rc::gen::oneOf(rc::gen::elementOf(std::string("@:/?#&=;,%[]'\" .\\+-_*<>\n")),
                       rc::gen::elementOf(std::string("azAZ09")), rc::gen::arbitrary<char>()));
  };
  const auto one_of = [](std::vector<std::string> texts) {
    return *rc::gen::elementOf(std::move(texts));
  };
  const auto scheme =
      one_of({"https://", "postgres://", "POSTGRESQL://", "redis://", "nats://", "amqp://", "x://",
              "https:/", "kafka:", "file:", "sqlite:", "mqtt:", "//", ""});
  const auto host = one_of({"h", "h:1", "h1:1,h2:2", "[::1]:1", "%2Frun", "", "h:", "user@h"});
  const auto path = one_of({"", "/", "/db", "/a/b", "/@x", "//"});
  // Before a : stands a user, whom the URL of a database or a broker may show.
  const bool with_user = scheme.ends_with("://") && !scheme.starts_with("http");
  const auto login = [&] {
    return one_of({"u:", ":", "u@v:", "u%3A", with_user ? "u:" : ""}) + noise() + "HUNTER" +
           noise() + "@";
  };
  const auto parameter = [&] {
    return one_of({"password", "PASSWORD", "sslPassword", "token", "access_token", "api_key",
                   "secret", "sig", "code", "X-Amz-Signature", "pass%77ord"}) +
           "=" + noise() + "HUNTER" + noise();
  };
  const auto harmless = one_of({"", "sslmode=require&", "application_name=x&", "&", ";", "a=b&"});
  std::string text;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      text = scheme + login() + host + path;
      break;
    case 1:
      text = scheme + host + path + "?" + harmless + parameter();
      break;
    case 2:
      text = scheme + login() + host + path + "?" + harmless + parameter();
      break;
    default:
      text = one_of({"host=h ", "user=u dbname=d ", ""}) + one_of({"password", "sslpassword"}) +
             one_of({"=", " = ", "='", " ='"}) + noise() + "HUNTER" + noise();
  }
  const auto masked = masked_url(text);
  RC_ASSERT(masked.find("HUNTER") == std::string::npos);
  RC_ASSERT(clean_error(masked).find("HUNTER") == std::string::npos);
}

}  // namespace
}  // namespace sagabox
