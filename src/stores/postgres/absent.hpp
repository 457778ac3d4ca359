#pragma once

#include "stores/postgres/context.hpp"

#include <sagabox/store.hpp>

#include <optional>
#include <span>
#include <vector>

namespace sagabox::postgres {

inline Error absent() {
  return {Code::config_invalid, "the PostgreSQL store of this build does not have this role"};
}

class AbsentOutbox final : public spi::OutboxStore {
 public:
  explicit AbsentOutbox(Context& context) : context_(context) {}
  [[nodiscard]] spi::Capabilities capabilities() const override {
    return {.late_commits = spi::LateCommits::visible, .shards = context_.shards};
  }
  Status prepare(const TableName& table) override { return context_.migrations.prepare(table); }
  Result<spi::ReadReply> read(const TableName&, std::span<const spi::Range>, std::size_t) override {
    return absent();
  }
  Result<spi::ReadReply> read_due(const TableName&, std::span<const spi::DueRange>,
                                  std::size_t) override {
    return absent();
  }
  Result<spi::RetryingKeysReply> read_retrying_keys(const TableName&, Shard, Sequence,
                                                    std::uint32_t) override {
    return absent();
  }
  Result<spi::SettleReply> settle(const spi::SettleRequest&) override { return absent(); }
  void wait(const TableName&, Duration) override {}
  void wake(const TableName&) override {}

 private:
  Context& context_;
};

class AbsentAdmin final : public spi::OutboxAdminStore {
 public:
  Result<spi::TableStats> stats(const TableName&) override { return absent(); }
  Result<spi::ListReply> list(const spi::ListRequest&) override { return absent(); }
  Result<std::optional<MessageRecord>> find(const spi::FindRequest&) override { return absent(); }
  Result<std::uint64_t> count(const TableName&, MessageState, const MessageFilter&) override {
    return absent();
  }
  Result<spi::MoveReply> move(const spi::MoveRequest&) override { return absent(); }
  Result<spi::PurgeReply> purge(const spi::PurgeRequest&) override { return absent(); }
  Result<std::vector<spi::Stray>> strays(const TableName&, std::uint32_t) override {
    return absent();
  }
};

class AbsentControl final : public spi::ControlStore {
 public:
  Result<spi::Controls> controls(const TableName&) override { return absent(); }
  Result<bool> set_pause(const spi::PauseRequest&) override { return absent(); }
  Result<ReplayJob> create_job(const spi::NewReplayJob&) override { return absent(); }
  Result<std::vector<ReplayJob>> jobs(const TableName&) override { return absent(); }
  Result<ReplayJob> change_job(const spi::JobChange&) override { return absent(); }
  Result<spi::JobAdvanceReply> advance_job(const spi::JobAdvance&) override { return absent(); }
};

class AbsentAudit final : public spi::AuditStore {
 public:
  Result<AuditHead> append(std::span<const AuditEvent>) override { return absent(); }
  Result<std::vector<AuditEntry>> read(std::uint64_t, std::uint32_t) override { return absent(); }
  Result<AuditHead> head() override { return absent(); }
};

}  // namespace sagabox::postgres
