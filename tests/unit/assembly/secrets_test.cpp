#include "assembly/configuration_text.hpp"
#include "assembly/daemon.hpp"
#include "assembly/secret_texts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sagabox::assembly {
namespace {

constexpr auto marker = "hunter2x";

/// All that `config check`, `config print` and a start of the daemon say of this configuration.
std::string everything_said(const std::string& text, const Environment& environment = {}) {
  auto configured = read_configuration(text, "sagabox.yaml", environment);
  std::string said;
  for (const auto& problem : configured.problems) said += problem + "\n";
  if (configured.problems.empty()) {
    for (const auto& problem : Daemon::check(configured.configuration)) {
      said += located(configured, problem.message) + "\n";
    }
  }
  return said + configuration_yaml(configured);
}

std::string replaced_all(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

/// Right and wrong ones.
const std::vector<std::string> urls{
    "https://user:hunter2x@x.example/z",
    "https://hunter2x@x.example/z",
    "https://user:p@hunter2x@x.example/z",
    "https://user:p/hunter2x@x.example/z",
    "https://user:hunter2x",
    "https://user:hunter2x/z",
    "https://x.example/?token=hunter2x",
    "https://x.example/?TOKEN=hunter2x&sig=hunter2x#hunter2x",
    "https://x.example/?pass%77ord=hunter2x",
    "https://ho^st/?access_token=hunter2x",
    "http://x.example/?api_key=hunter2x",
    "https:/user:hunter2x@x.example",
    "https//user:hunter2x@x.example",
    "user:hunter2x@x.example",
    "//user:hunter2x@x.example",
    "ftp://user:hunter2x@x.example/",
    "postgres://me:hunter2x@db/orders",
    "postgres://me:hunter2x@a:1,b:2/orders?sslmode=require",
    "postgres://db/orders?password=hunter2x&sslpassword=hunter2x",
    "POSTGRES://me:hunter2x@db/orders",
    "postgres://me:p@hunter2x@db/orders",
    "postgres://me:hunter2x@db:x/orders",
    "mongodb://me:hunter2x@db/orders",
    "host=db password=hunter2x",
    "host=db password='hun ter hunter2x'",
    "kafka:user:hunter2x@orders",
    "kafka:orders?password=hunter2x",
    "nats:user:hunter2x@orders x",
    "redis://:hunter2x@cache:6379/x",
    "redis:password=hunter2x@",
    "amqp:user:hunter2x@mq",
    "mqtt:user:hunter2x@mq/#",
    "file://user:hunter2x@host/x",
    "fn:user:hunter2x@show",
    "custom:user:hunter2x@x",
    "nats://user:hunter2x@n:1,nats://user:hunter2x@n:2",
    "sqlite://user:hunter2x@host/x",
    "https://user:hunter2x@[::1/",
    "https://user:hunter2x@x.example\\n/",
    "https://user:hunter2x\\t@x.example/",
};

/// Where they belong and where they do not.
const std::vector<std::string> places{
    "stores: { a: { url: \"URL\" } }\nroutes: [{ topic: t, to: \"fn:show\" }]",
    "stores: \"URL\"",
    "stores: [\"URL\"]",
    "stores: { \"URL\": }",
    "stores: { \"URL\": { url: \"memory:\" } }\nroutes: [{ topic: t, to: \"fn:show\" }]",
    "stores: { a: { url: \"memory:\", tables: [\"URL\"] } }\nroutes: [{ topic: t, to: \"fn:show\" "
    "}]",
    "stores: { a: { url: \"memory:\", tables: { \"URL\": { preset: \"URL\" } } } }",
    "stores: { a: { url: [\"URL\"] } }",
    "stores: { a: { url_file: \"URL\" } }",
    "stores: { a: { url: \"URL\", url: \"URL\" } }",
    "stores: { a: { url: \"URL\", \"URL\": 1, \"URL\": 2 } }",
    "stores: { a: { uri: \"URL\" } }",
    "stores: { a: { url: \"URL\", shards: \"URL\", schema: \"URL\" } }",
    "routes: [{ topic: t, to: \"URL\" }]",
    "routes: [{ topic: t, to: [\"URL\", \"URL\"] }]",
    "routes: [{ topic: t, to: { address: \"URL\", timeout: \"URL\" } }]",
    "routes: [{ topic: t, to: { address: \"https://x.example/\", mode: \"URL\" } }]",
    "routes: [{ topic: t, to: { address: \"https://x.example/\", \"URL\": x } }]",
    "routes: [{ topic: t, to: { address: \"https://x.example/\", header.Authorization: \"URL\" } "
    "}]",
    "routes: [{ topic: t, to: { address: \"https://x.example/\", header.X: \"URL\" } }]",
    "routes: [{ topic: \"URL\", to: \"fn:show\" }]",
    "routes: [{ topic: t, to: \"fn:show\", schema_file: \"URL\" }]",
    "routes: [{ topic: t, to: \"fn:show\", timeout: \"URL\" }]",
    "routes: [{ topic: t, to: \"fn:show\", retry: { preset: \"URL\" } }]",
    "routes: [{ topic: t, \"URL\": \"URL\" }]",
    "routes: \"URL\"",
    "routes: [\"URL\"]",
    "listen: \"URL\"",
    "api_keys_file: \"URL\"",
    "metrics: { prefix: \"URL\" }",
    "metrics: { path: \"URL\" }",
    "tls: { certificate_file: \"URL\", key_file: \"URL\" }",
    "log: { level: \"URL\", format: \"URL\" }",
    "limits: { transports: { \"URL\": { rate: 1 } } }\nroutes: [{ topic: t, to: \"fn:show\" }]",
    "limits: { tenants: { \"URL\": { rate: \"URL\" } } }",
    "tracing: { endpoint: \"URL\" }",
    "tracing: { endpoint: \"http://127.0.0.1:4318\", headers: { \"URL\": \"URL\" } }",
    "tracing: { endpoint: \"http://127.0.0.1:4318\", resource: { \"URL\": \"URL\" } }",
    "tracing: { endpoint: \"http://127.0.0.1:4318\", authorization: \"URL\" }",
    "transports: { http: { allow: [\"URL\"], resolve: [\"URL\"] } }\n"
    "routes: [{ topic: t, to: \"https://x.example/\" }]",
    "transports: { http: { credentials: [{ tenant: \"URL\", hosts: [\"URL\"], bearer: \"URL\" "
    "}] } }\nroutes: [{ topic: t, to: \"https://x.example/\" }]",
    "transports: { http: { credentials: [{ hosts: x.example, username: \"URL\", password: \"URL\", "
    "header: \"URL\", value: \"URL\" }] } }\nroutes: [{ topic: t, to: \"https://x.example/\" }]",
    "transports: { http: { credentials: { \"URL\": { bearer: \"URL\" } } } }",
    "sagas: { reply_secret: \"URL\", reply_secret_before: \"URL\" }",
    "sagas: { limits: { participants: { \"URL\": { rate: \"URL\" } } } }",
    "transports: { kafka: { brokers: \"URL\" } }\nroutes: [{ topic: t, to: \"kafka:x\" }]",
    "transports: { kafka: { brokers: \"a:1\", properties: { sasl.password: \"URL\", \"URL\": x } } "
    "}\n"
    "routes: [{ topic: t, to: \"kafka:x\" }]",
    "transports: { kafka: { sasl_password: [\"URL\"] } }",
    "transports: { nats: { servers: [\"URL\"] } }\nroutes: [{ topic: t, to: \"nats:x\" }]",
    "transports: { nats: { servers: \"URL\", credentials: { token: \"URL\", user: \"URL\" } } }\n"
    "routes: [{ topic: t, to: \"nats:x\" }]",
    "transports: { redis: { url: \"URL\" } }\nroutes: [{ topic: t, to: \"redis:x\" }]",
    "transports: { amqp: { url: \"URL\" } }\nroutes: [{ topic: t, to: \"amqp:/x\" }]",
    "transports: { mqtt: { url: \"URL\", port: \"URL\" } }\nroutes: [{ topic: t, to: \"mqtt:x\" }]",
    "transports: { \"URL\": { url: \"URL\" } }",
    "\"URL\"",
    "\"URL\": \"URL\"",
    "- \"URL\"",
    "listen: \"${URL}\"",
    "listen: \"${URL\"",
};

TEST(ConfigurationSecrets, NoTextAboutAConfigurationRepeatsThem) {
  std::size_t refused = 0;
  for (const auto& place : places) {
    for (const auto& url : urls) {
      const auto text = replaced_all(place, "URL", url);
      const auto said = everything_said(text);
      EXPECT_EQ(said.find(marker), std::string::npos) << text << "\n\n" << said;
      refused += said.starts_with("sagabox.yaml:") ? 1 : 0;
    }
  }
  EXPECT_GE(refused, 1000U) << "most of them are wrong, and say so";
}

TEST(ConfigurationSecrets, NorWhereTheEnvironmentHasThem) {
  for (const auto& url : urls) {
    for (const auto* name :
         {"SAGABOX_STORES_DEFAULT_URL", "SAGABOX_STORES_DEFAULT_URL_FILE", "SAGABOX_LISTEN",
          "SAGABOX_TRACING_ENDPOINT", "SAGABOX_TRANSPORTS_NATS_SERVERS", "SAGABOX_NO_SUCH_SETTING",
          "SAGABOX_TRANSPORTS_REDIS_PASSWORD", "SAGABOX_TRANSPORTS_REDIS_PORT"}) {
      const auto said = everything_said("", {{name, url}});
      EXPECT_EQ(said.find(marker), std::string::npos) << name << " " << url << "\n\n" << said;
    }
    const auto said = everything_said(
        "listen: ${SECRET}\nroutes: [{ topic: t, to: \"${SECRET}\" }]", {{"SECRET", url}});
    EXPECT_EQ(said.find(marker), std::string::npos) << url << "\n\n" << said;
  }
}

TEST(ConfigurationSecrets, NorWhereTheFileIsNotYaml) {
  for (const auto* text :
       {"transports: { redis: { password: *hunter2x } }", "a: !hunter2x!b c", "%hunter2x",
        "a: \"hunter2x", "a: { b: hunter2x", "a: @hunter2x", "a: \"\\hunter2x\"",
        "transports: { redis: { password: &hunter2x } }", "%TAG ! hunter2x hunter2x\n--- a"}) {
    const auto said = everything_said(text);
    EXPECT_EQ(said.find(marker), std::string::npos) << text << "\n\n" << said;
  }
}

TEST(ConfigurationSecrets, TheRestIsShown) {
  const auto said =
      everything_said("routes: [{ topic: t, to: \"https://user:hunter2x@x.example/z\" }]");
  EXPECT_NE(
      said.find("sagabox.yaml:1: routes[0] (t): target \"https://***@x.example/z\": a user or "
                "password in a URL"),
      std::string::npos)
      << said;
}

TEST(SecretTexts, AreMaskedWhereverTheyAreRepeated) {
  SecretTexts secrets;
  secrets.add_text("plain");
  secrets.add_text("https://u:hunter2x@h/");
  secrets.add_secret("open sesame");
  secrets.add_secret("ab");
  EXPECT_EQ(secrets.masked("plain ab https://u:hunter2x@h/ \"hunter2x\" open sesame"),
            "plain ab https://***@h/ \"***\" ***");
}

}  // namespace
}  // namespace sagabox::assembly
