#pragma once

#include <sagabox/random.hpp>
#include <sagabox/spi/transport.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sagabox::testing {

/// Sends messages through a transport and waits for their results. The transport is closed first.
class Sender final : public spi::SendResults {
 public:
  static constexpr Duration ample = std::chrono::seconds(60);

  explicit Sender(spi::Transport& transport) : transport_(transport) {}

  /// Their results in the given order; `timed_out` with the error "nobody" if there was none.
  std::vector<spi::SendResult> send(std::vector<NewMessage> drafts, const std::string& address,
                                    Duration time = ample,
                                    const spi::AddressSettings& settings = {}) {
    std::vector<spi::Parcel> parcels;
    const auto to = transport_.address(address, settings).value();
    const auto first = last_ticket_ + 1;
    for (auto& draft : drafts) {
      if (draft.topic.empty()) draft.topic = "orders.order.placed.v1";
      if (!draft.payload.given()) draft.payload = json("{}");
      parcels.push_back({.ticket = spi::Ticket{++last_ticket_},
                         .message = std::make_shared<const Message>(
                             Message::build(std::move(draft), {}, ids_, system_clock()).value()),
                         .address = to,
                         .table = &table_,
                         .deadline = system_clock().boot_now() + time});
    }
    transport_.send(parcels, *this);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time + ample, [&] { return results_.size() == last_ticket_; });
    std::vector<spi::SendResult> results;
    for (auto ticket = first; ticket <= last_ticket_; ++ticket) {
      const auto found = results_.find(ticket);
      results.push_back(found == results_.end()
                            ? spi::SendResult{spi::SendResult::Kind::timed_out, "nobody"}
                            : found->second);
    }
    return results;
  }

  spi::SendResult send_one(NewMessage draft, const std::string& address, Duration time = ample,
                           const spi::AddressSettings& settings = {}) {
    std::vector<NewMessage> drafts;
    drafts.push_back(std::move(draft));
    return send(std::move(drafts), address, time, settings).front();
  }

  void sent(spi::Ticket ticket, spi::SendResult result) noexcept override {
    const std::lock_guard lock(mutex_);
    results_.emplace(ticket.value, std::move(result));
    changed_.notify_all();
  }

 private:
  spi::Transport& transport_;
  TableName table_ = TableName::parse("orders").value();
  UlidSource ids_{system_clock(), system_random()};
  std::uint64_t last_ticket_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, spi::SendResult> results_;
};

}  // namespace sagabox::testing
