#include "server/api/keys.hpp"

#include "core/secret_random.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace sagabox::server {
namespace {

class ServerKeys : public ::testing::Test {
 protected:
  std::string contents() {
    std::ifstream file(file_.path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string problem() {
    const auto listed = file_.list();
    return listed.ok() ? "fine" : listed.error().text();
  }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(file_.path()) << text;
    ::chmod(file_.path().c_str(), mode);
  }

  testing::SqliteFolder folder_;
  KeyFile file_{folder_.file("keys")};
  testing::FakeClock clock_;
};

TEST_F(ServerKeys, AreKeptHashedForTheirOwnerOnly) {
  const auto created =
      file_
          .create({.name = "ann \"a\"", .role = Role::operate, .tenant = "acme", .payloads = true},
                  secret_random(), clock_)
          .value();
  EXPECT_TRUE(created.secret.starts_with("sbx_" + created.key.id + "_"));
  EXPECT_GE(created.secret.size(), 4 + 8 + 1 + 32U);
  EXPECT_EQ(contents().find(created.secret.substr(13)), std::string::npos);
  EXPECT_EQ(created.key.hash, sha256(created.secret));
  struct stat facts{};
  ASSERT_EQ(::stat(file_.path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_EQ(file_.list().value(), std::vector{created.key});
}

TEST_F(ServerKeys, NoTwoAreAlike) {
  const auto first = file_.create({.name = "a"}, secret_random(), clock_).value();
  const auto second = file_.create({.name = "a"}, secret_random(), clock_).value();
  EXPECT_NE(first.secret, second.secret);
  EXPECT_NE(first.key.id, second.key.id);
}

TEST_F(ServerKeys, AreRevokedOnce) {
  const auto created = file_.create({.name = "a"}, secret_random(), clock_).value();
  EXPECT_EQ(file_.revoke(created.key.id, clock_).value().revoked_at, clock_.wall_now());
  EXPECT_EQ(
      file_.revoke(created.key.id, clock_).error().text(),
      "TX.INVALID_STATE: key \"" + created.key.id + "\" was revoked at 2026-01-01T00:00:00.000Z");
  EXPECT_EQ(file_.revoke("nobody12", clock_).error().code, Code::config_invalid);
  ASSERT_EQ(file_.list().value().size(), 1U);
  EXPECT_EQ(KeyRing::open(file_, {}).error().message.substr(0, 9), "key file ");
}

TEST_F(ServerKeys, AFileThatOthersCanReadIsRefused) {
  (void)file_.create({.name = "a"}, secret_random(), clock_).value();
  ::chmod(file_.path().c_str(), 0644);
  EXPECT_EQ(problem(), "CONFIG.INVALID: key file \"" + file_.path() +
                           "\": others can read or change it; chmod 600 it");
}

TEST_F(ServerKeys, ABrokenLineIsNamed) {
  EXPECT_EQ(problem(), "fine") << "no file, no keys";
  write("\n{\"id\":\"abcdefgh\"}\n");
  EXPECT_EQ(problem(), "CONFIG.INVALID: key file \"" + file_.path() +
                           "\", line 2: role: must be read, operate or admin");
}

TEST_F(ServerKeys, NamesAreChecked) {
  EXPECT_EQ(file_.create({.name = ""}, secret_random(), clock_).error().message,
            "name: give 1 to 64 printable characters");
  EXPECT_EQ(file_.create({.name = "a", .tenant = "\n"}, secret_random(), clock_).error().message,
            "tenant: give 1 to 64 printable characters");
}

TEST_F(ServerKeys, TwoWhoCreateAtOnceTakeTurns) {
  const auto create = [&] {
    for (int key = 0; key < 20; ++key) {
      EXPECT_TRUE(file_.create({.name = "k"}, secret_random(), clock_).ok());
    }
  };
  std::thread other(create);
  create();
  other.join();
  EXPECT_EQ(file_.list().value().size(), 40U);
}

}  // namespace
}  // namespace sagabox::server
