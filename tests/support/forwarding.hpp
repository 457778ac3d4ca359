#pragma once

#include <sagabox/spi/control_store.hpp>
#include <sagabox/spi/outbox_admin_store.hpp>
#include <sagabox/spi/outbox_store.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Stores that pass every call on, so that a test can override one.
namespace sagabox::testing {

class ForwardingStore : public spi::OutboxStore {
 public:
  explicit ForwardingStore(spi::OutboxStore& to) : to_(to) {}
  [[nodiscard]] spi::Capabilities capabilities() const override { return to_.capabilities(); }
  Status prepare(const TableName& table) override { return to_.prepare(table); }
  Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                              std::size_t bytes_max) override {
    return to_.read(table, ranges, bytes_max);
  }
  Result<spi::ReadReply> read_due(const TableName& table, std::span<const spi::DueRange> ranges,
                                  std::size_t bytes_max) override {
    return to_.read_due(table, ranges, bytes_max);
  }
  Result<spi::RetryingKeysReply> read_retrying_keys(const TableName& table, Shard shard,
                                                    Sequence after,
                                                    std::uint32_t rows_max) override {
    return to_.read_retrying_keys(table, shard, after, rows_max);
  }
  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override {
    return to_.settle(request);
  }
  void wait(const TableName& table, Duration timeout) override { to_.wait(table, timeout); }
  void wake(const TableName& table) override { to_.wake(table); }

 private:
  spi::OutboxStore& to_;
};

class ForwardingAdmin : public spi::OutboxAdminStore {
 public:
  explicit ForwardingAdmin(spi::OutboxAdminStore& to) : to_(to) {}
  Result<spi::TableStats> stats(const TableName& table) override { return to_.stats(table); }
  Result<spi::ListReply> list(const spi::ListRequest& request) override {
    return to_.list(request);
  }
  Result<std::optional<MessageRecord>> find(const spi::FindRequest& request) override {
    return to_.find(request);
  }
  Result<std::uint64_t> count(const TableName& table, MessageState state,
                              const MessageFilter& filter) override {
    return to_.count(table, state, filter);
  }
  Result<spi::MoveReply> move(const spi::MoveRequest& request) override {
    return to_.move(request);
  }
  Result<spi::PurgeReply> purge(const spi::PurgeRequest& request) override {
    return to_.purge(request);
  }
  Result<std::vector<spi::Stray>> strays(const TableName& table, std::uint32_t rows_max) override {
    return to_.strays(table, rows_max);
  }

 private:
  spi::OutboxAdminStore& to_;
};

class ForwardingControl : public spi::ControlStore {
 public:
  explicit ForwardingControl(spi::ControlStore& to) : to_(to) {}
  Result<spi::Controls> controls(const TableName& table) override { return to_.controls(table); }
  Result<bool> set_pause(const spi::PauseRequest& request) override {
    return to_.set_pause(request);
  }
  Result<ReplayJob> create_job(const spi::NewReplayJob& request) override {
    return to_.create_job(request);
  }
  Result<std::vector<ReplayJob>> jobs(const TableName& table) override { return to_.jobs(table); }
  Result<ReplayJob> change_job(const spi::JobChange& change) override {
    return to_.change_job(change);
  }
  Result<spi::JobAdvanceReply> advance_job(const spi::JobAdvance& request) override {
    return to_.advance_job(request);
  }

 private:
  spi::ControlStore& to_;
};

}  // namespace sagabox::testing
