#include "assembly/configuration_file.hpp"
#include "assembly/daemon.hpp"
#include "integration/postgres/world.hpp"

#include <fmt/format.h>

namespace sagabox::integration {
namespace {

class WritingDaemonPostgresTest : public PostgresWorld {};

/// A process that only writes is not told sequences unless it asks; the REST API tells them, so a
/// daemon does.
TEST_F(WritingDaemonPostgresTest, IsToldTheSequenceOfWhatItWrites) {
  const auto text = fmt::format(
      "delivery: elsewhere\n"
      "stores: {{main: {{url: \"postgres://postgres@127.0.0.1:{}/postgres\", schema: {}, "
      "tables: [orders]}}}}\n",
      testing::PostgresServer::shared().port, database->schema());
  auto configured = assembly::read_configuration(text, "sagabox.yaml", {});
  ASSERT_TRUE(configured.problems.empty()) << configured.problems.front();
  auto opened = assembly::Daemon::open(std::move(configured.configuration), {});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  auto& outbox = *(*opened)->tables().front().outbox;
  const auto first = write(outbox, {.topic = topic, .payload = json("1")});
  const auto second = write(outbox, {.topic = topic, .payload = json("2")});
  EXPECT_GT(first.sequence.value, 0U);
  EXPECT_GT(second.sequence, first.sequence);
  EXPECT_EQ(stats().pending, 2U);
}

}  // namespace
}  // namespace sagabox::integration
