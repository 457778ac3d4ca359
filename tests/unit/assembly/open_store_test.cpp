#include "assembly/open_store.hpp"

#include <sagabox/open.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace sagabox {
namespace {

TEST(OpenStore, MemoryStoreIsFoundByItsUrl) {
  const auto store = open_store("memory:", {.shards = 4}).value();
  EXPECT_EQ(store->name(), "memory:");
  EXPECT_EQ(store->outbox().capabilities().shards, 4U);
}

TEST(OpenStore, UnknownStoreIsToldWithWhatThereIs) {
  const auto refused = open_store("mongodb://ann:hunter2@db/orders");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_NE(refused.error().message.find("there is no store for \"mongodb:\"; this build has "),
            std::string::npos)
      << refused.error().message;
  for (const auto& scheme : store_schemes()) {
    EXPECT_NE(refused.error().message.find(scheme), std::string::npos) << scheme;
  }
  EXPECT_EQ(refused.error().message.find("hunter2"), std::string::npos);
}

TEST(OpenStore, UrlWithoutASchemeIsNotShown) {
  for (const auto* url : {"host=db password=hunter2", "", "hunter2 x:y", ":hunter2"}) {
    const auto refused = open_store(url);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::config_invalid);
    EXPECT_NE(refused.error().message.find("no scheme"), std::string::npos) << url;
    EXPECT_EQ(refused.error().message.find("hunter2"), std::string::npos) << url;
  }
}

TEST(OpenStore, StoreThatIsNotInThisBuildIsToldSo) {
  const auto schemes = store_schemes();
  const bool built = std::ranges::find(schemes, "postgres://") != schemes.end();
  const auto refused = open_store("postgres://ann:hunter2@127.0.0.1:1/orders");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, built ? Code::storage_unavailable : Code::config_invalid);
  EXPECT_EQ(refused.error().message.find("left out of this build") == std::string::npos, built);
  EXPECT_EQ(refused.error().message.find("hunter2"), std::string::npos);
}

TEST(OpenStore, OptionsOfItsKindReachTheStore) {
  assembly::BackendOptions none;
  none.postgres.writers_max = 0;
  none.sqlite.readers_max = 0;
  const auto schemes = store_schemes();
  for (const auto& [url, refused] :
       {std::pair("postgres://127.0.0.1:1/orders", "writers_max: give 1 or more"),
        std::pair("sqlite:nowhere/a.db", "readers_max: give 1 or more")}) {
    const std::string begin = std::string(url).substr(0, std::string(url).find(':') + 1);
    if (std::ranges::none_of(schemes, [&](const auto& one) { return one.starts_with(begin); })) {
      continue;
    }
    const auto opened = assembly::open_store(url, {}, none);
    ASSERT_FALSE(opened.ok()) << url;
    EXPECT_EQ(opened.error().message, refused);
  }
}

TEST(OpenSchema, StoreInMemorySaysThatItHasNone) {
  const auto refused = open_schema("memory:");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_NE(refused.error().message.find("nothing to migrate"), std::string::npos);
}

TEST(OpenSchema, NothingIsConnectedToOrMade) {
  for (const auto& begin : store_schemes()) {
    if (begin == "memory:") continue;
    EXPECT_TRUE(open_schema(begin + (begin == "sqlite:" ? "nowhere/a.db" : "127.0.0.1:1/x")).ok())
        << begin;
  }
  EXPECT_EQ(open_schema("mongodb://db/orders").error().code, Code::config_invalid);
}

TEST(StoreThere, OnlyOfWhatOthersMadeAndCanSee) {
  EXPECT_EQ(assembly::check_store_there("memory:").error().code, Code::config_invalid);
  EXPECT_EQ(assembly::check_store_there("mongodb://db/orders").error().code, Code::config_invalid);
  const auto schemes = store_schemes();
  if (std::ranges::find(schemes, "sqlite:") != schemes.end()) {
    const auto refused = assembly::check_store_there("sqlite:nowhere/a.db");
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("there is no file nowhere/a.db; sagabox migrate up"),
              std::string::npos)
        << refused.error().message;
  }
}

}  // namespace
}  // namespace sagabox
