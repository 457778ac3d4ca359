#include "conformance/hub/hub_conformance.hpp"
#include "conformance/idempotency/idempotency_conformance.hpp"
#include "conformance/idempotency/inbox_conformance.hpp"
#include "conformance/saga/saga_conformance.hpp"

#include <sagabox/stores/memory.hpp>

namespace sagabox::conformance {
namespace {

class MemoryConnection final : public UserConnection {
 public:
  explicit MemoryConnection(memory::Connection connection) : connection_(std::move(connection)) {}
  Status begin() override { return connection_.begin(); }
  Status commit() override { return connection_.commit(); }
  Status rollback() override { return connection_.rollback(); }
  Result<std::unique_ptr<Transaction>> enlist() override {
    auto enlisted = memory::enlist(connection_);
    if (!enlisted.ok()) return enlisted.error();
    return std::unique_ptr<Transaction>(
        std::make_unique<memory::Enlisted>(std::move(enlisted).value()));
  }

 private:
  memory::Connection connection_;
};

class MemoryFixture final : public StoreFixture {
 public:
  explicit MemoryFixture(spi::LateCommits late_commits)
      : store_({.late_commits = late_commits, .clock = &clock_}) {}

  Store& store() override { return store_; }
  void advance_time(Duration by) override { clock_.advance(by); }
  std::unique_ptr<UserConnection> connect() override {
    return std::make_unique<MemoryConnection>(store_.connect());
  }
  Status corrupt(const TableName& table, Sequence sequence) override {
    return store_.corrupt(table, sequence);
  }
  Status put_history(const TableName&, Sequence, const std::string&) override { return {}; }
  void remove_audit(std::uint64_t first, std::uint64_t last) override {
    store_.remove_audit(first, last);
  }
  std::optional<StoredRow> look(const TableName& table, const MessageId& id) override {
    for (const auto& row : store_.inspect(table)) {
      if (row.row.id != id) continue;
      return StoredRow{.state = static_cast<StoredRow::State>(row.state),
                       .sequence = row.row.sequence,
                       .attempts = row.row.attempts,
                       .code = row.code,
                       .error = row.error};
    }
    return std::nullopt;
  }

 private:
  testing::FakeClock clock_;
  memory::MemoryStore store_;
};

StoreKind memory_kind(std::string name, spi::LateCommits late_commits) {
  return {std::move(name),
          [late_commits] { return std::make_unique<MemoryFixture>(late_commits); }};
}

INSTANTIATE_TEST_SUITE_P(
    Memory, StoreConformance,
    ::testing::Values(memory_kind("LateCommitsNone", spi::LateCommits::none),
                      memory_kind("LateCommitsVisible", spi::LateCommits::visible),
                      memory_kind("LateCommitsWindow", spi::LateCommits::window)),
    kind_name);
INSTANTIATE_TEST_SUITE_P(Memory, IdempotencyConformance,
                         ::testing::Values(memory_kind("Store", spi::LateCommits::visible)),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(Memory, InboxConformance,
                         ::testing::Values(memory_kind("Store", spi::LateCommits::visible)),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(
    Memory, SagaConformance,
    ::testing::Values(memory_kind("LateCommitsNone", spi::LateCommits::none),
                      memory_kind("LateCommitsVisible", spi::LateCommits::visible),
                      memory_kind("LateCommitsWindow", spi::LateCommits::window)),
    kind_name);
INSTANTIATE_TEST_SUITE_P(
    Memory, HubConformance,
    ::testing::Values(memory_kind("LateCommitsNone", spi::LateCommits::none),
                      memory_kind("LateCommitsVisible", spi::LateCommits::visible),
                      memory_kind("LateCommitsWindow", spi::LateCommits::window)),
    kind_name);

}  // namespace
}  // namespace sagabox::conformance
