#include "integration/postgres/world.hpp"
#include "support/places.hpp"
#include "support/server_process.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sagabox::integration {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// docs/quick-start.md, its commands in bash as they are printed but for ports and the database.
class QuickStart : public PostgresWorld {
 protected:
  void SetUp() override {
    PostgresWorld::SetUp();
    if (IsSkipped()) return;
    if (testing::program_path("psql").empty() || testing::program_path("python3").empty()) {
      GTEST_SKIP() << "psql or python3 is not installed";
    }
    database->sql("CREATE DATABASE " + own_database);
    fs::create_symlink(testing::cli_binary(), folder / "sagabox");
  }
  void TearDown() override {
    daemon.stop();
    receiver.stop();
    if (database) database->sql("DROP DATABASE IF EXISTS " + own_database + " WITH (FORCE)");
    PostgresWorld::TearDown();
  }

  /// The blocks of bash, in their order.
  [[nodiscard]] std::vector<std::string> blocks() const {
    const auto page = text_of(testing::project_folder() / "docs/quick-start.md");
    const std::string begin = "\n```bash\n";
    std::vector<std::string> found;
    for (auto at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
      at += begin.size();
      found.push_back(page.substr(at, page.find("\n```", at) - at));
    }
    return found;
  }
  /// Types them in a terminal. What goes on there ends with the terminal.
  void type(testing::ServerProcess& terminal, std::string block, const std::string& log) {
    const auto port = std::to_string(testing::PostgresServer::shared().port);
    replace_all(block, "127.0.0.1:5432/postgres", "127.0.0.1:" + port + "/" + own_database);
    replace_all(block, "9000", std::to_string(hook_port));
    replace_all(block, "8700", std::to_string(api_port));
    replace_all(block, "python3 -c", "exec python3 -c");
    replace_all(block, "sagabox serve", "exec sagabox serve");
    std::ofstream(folder / (log + ".sh")) << "cd " << folder.string() << "\n" << block << "\n";
    terminal.start({"/usr/bin/env", "-u", "SAGABOX_TEST_POSTGRES", "-u", "SAGABOX_NO_SETUP",
                    "PATH=" + folder.string() + ":/usr/bin:/bin",
                    "SAGABOX_LISTEN=127.0.0.1:" + std::to_string(api_port), "bash", "-e",
                    (folder / (log + ".sh")).string()},
                   folder / log);
  }
  [[nodiscard]] bool says(const std::string& log, const std::string& what) const {
    return eventually([&] { return text_of(folder / log).find(what) != std::string::npos; });
  }

  const fs::path folder = testing::scratch_folder("quick-start");
  const std::string own_database = "quick_start_" + std::to_string(getpid());
  const std::uint16_t hook_port = testing::free_port();
  const std::uint16_t api_port = testing::free_port();
  testing::ServerProcess receiver;
  testing::ServerProcess daemon;
};

TEST_F(QuickStart, WorksAsPrinted) {
  const auto typed = blocks();
  ASSERT_EQ(typed.size(), 4U);
  type(receiver, typed[0], "receiver.log");
  ASSERT_TRUE(testing::wait_for_port(hook_port)) << text_of(folder / "receiver.log");
  type(daemon, typed[1], "daemon.log");
  ASSERT_TRUE(says("daemon.log", "shards owned")) << text_of(folder / "daemon.log");

  testing::ServerProcess application;
  type(application, typed[2], "application.log");
  EXPECT_TRUE(says("receiver.log", R"({"id":17})"))
      << text_of(folder / "application.log") << text_of(folder / "daemon.log");

  receiver.stop();
  auto another = typed[2];
  replace_all(another, "17", "18");
  type(application, another, "application.log");
  ASSERT_TRUE(eventually([&] { return !application.runs(); }));
  ASSERT_TRUE(says("application.log", "COMMIT")) << text_of(folder / "application.log");
  // Until the daemon has found out that nobody listens.
  testing::ServerProcess person;
  EXPECT_TRUE(eventually([&] {
    if (!person.runs()) type(person, typed[3], "person.log");
    return text_of(folder / "person.log").find(" is down for ") != std::string::npos;
  })) << text_of(folder / "person.log");

  type(receiver, typed[0], "again.log");
  EXPECT_TRUE(says("again.log", R"({"id":18})")) << text_of(folder / "daemon.log");
}

}  // namespace
}  // namespace sagabox::integration
