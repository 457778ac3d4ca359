#include "integration/postgres/world.hpp"
#include "support/places.hpp"
#include "support/server_process.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace sagabox::integration {
namespace {

/// `sagabox serve`, twice, on one PostgreSQL. Each has a file that it delivers into.
class TwoDaemonsPostgresTest : public PostgresWorld {
 protected:
  void start(testing::ServerProcess& daemon, const std::string& name) const {
    const auto port = std::to_string(testing::PostgresServer::shared().port);
    std::ofstream(folder / (name + ".yaml"))
        << "stores: {main: {url: \"postgres://postgres@127.0.0.1:" << port
        << "/postgres\", schema: " << database->schema() << ", tables: [orders]}}\n"
        << "routes: [{topic: \"**\", to: \"file:" << (folder / (name + ".out")).string() << "\"}]\n"
        << "relay: {lease: 1s, poll_interval: 20ms}\n"
        << "listen: 127.0.0.1:0\n";
    // Variables of the tests mean nothing to it.
    daemon.start(
        {"/usr/bin/env", "-u", "SAGABOX_TEST_POSTGRES", "-u", "SAGABOX_NO_SETUP",
         testing::cli_binary().string(), "serve", "--config", (folder / (name + ".yaml")).string()},
        folder / (name + ".log"));
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::size_t lines(const std::string& name) const {
    const auto text = read(name);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  void write_some(Outbox& outbox, int count) {
    for (int number = 0; number < count; ++number) {
      written.insert(
          write(outbox,
                {.topic = topic, .key = "k" + std::to_string(number % 50), .payload = json("1")})
              .id.str());
    }
  }
  /// Of what was written, what no file has.
  [[nodiscard]] std::size_t missing() const {
    const auto all = read("a.out") + read("b.out");
    std::size_t count = 0;
    for (const auto& id : written) count += all.find(id) == std::string::npos ? 1 : 0;
    return count;
  }

  std::filesystem::path folder = testing::scratch_folder("two-daemons");
  std::set<std::string> written;
};

TEST_F(TwoDaemonsPostgresTest, ShareTheWorkAndOneThatIsKilledLosesNothing) {
  auto outbox = Outbox::writer_only(*store, defaults()).value();
  testing::ServerProcess a;
  testing::ServerProcess b;
  start(a, "a");
  start(b, "b");
  ASSERT_TRUE(eventually([&] {
    write_some(outbox, 5);
    return lines("a.out") > 0 && lines("b.out") > 0;
  })) << read("a.log")
      << read("b.log");
  write_some(outbox, 200);
  a.stop();
  write_some(outbox, 200);
  ASSERT_TRUE(settles_to(written.size())) << read("b.log");
  EXPECT_EQ(missing(), 0U);
  EXPECT_EQ(b.end(), 0) << read("b.log");
}

}  // namespace
}  // namespace sagabox::integration
