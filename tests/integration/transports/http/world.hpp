#pragma once

#include "support/http_server.hpp"

#include <sagabox/random.hpp>
#include <sagabox/transports/http.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace sagabox::testing {

/// A server of its own, a transport to it, and what became of each parcel.
class HttpTransportTest : public ::testing::Test {
 protected:
  using Kind = spi::SendResult::Kind;
  static constexpr Duration ample = std::chrono::seconds(60);

  class Results final : public spi::SendResults {
   public:
    void sent(spi::Ticket ticket, spi::SendResult result) noexcept override {
      const std::scoped_lock lock(mutex_);
      EXPECT_TRUE(all_.emplace(ticket.value, std::move(result)).second) << "a second result";
      changed_.notify_all();
    }
    spi::SendResult of(std::uint64_t ticket) {
      std::unique_lock lock(mutex_);
      const auto there = changed_.wait_for(lock, 2 * ample, [&] { return all_.contains(ticket); });
      EXPECT_TRUE(there) << "no result";
      return there ? all_.at(ticket) : spi::SendResult{Kind::failed, "no result"};
    }
    std::size_t wait_for(std::size_t count) {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, 2 * ample, [&] { return all_.size() >= count; });
      return all_.size();
    }
    std::size_t count(Kind kind) {
      const std::scoped_lock lock(mutex_);
      std::size_t found = 0;
      for (const auto& [ticket, result] : all_) found += result.kind == kind ? 1U : 0U;
      return found;
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::uint64_t, spi::SendResult> all_;
  };

  static http::Options loopback() { return {.allow = {"127.0.0.0/8"}}; }

  void open(http::Options options = loopback()) {
    transport_ = http::open(std::move(options)).value();
  }

  std::shared_ptr<const spi::Address> address(const std::string& text,
                                              const spi::AddressSettings& settings = {}) {
    return transport_->address(text, settings).value();
  }

  std::shared_ptr<const Message> build(NewMessage draft) {
    if (!draft.payload.given()) draft.payload = json("{}");
    if (draft.topic.empty()) draft.topic = "orders.order.placed.v1";
    return std::make_shared<const Message>(
        Message::build(std::move(draft), {}, ids_, system_clock()).value());
  }

  spi::Parcel parcel(std::shared_ptr<const spi::Address> to, NewMessage draft = {},
                     Duration time = ample) {
    return {.ticket = spi::Ticket{++last_ticket_},
            .message = build(std::move(draft)),
            .address = std::move(to),
            .table = &table_,
            .sequence = Sequence{17},
            .attempt = 1,
            .deadline = system_clock().boot_now() + time};
  }

  /// Hands over; the ticket.
  std::uint64_t send(std::shared_ptr<const spi::Address> to, NewMessage draft = {},
                     Duration time = ample) {
    auto one = parcel(std::move(to), std::move(draft), time);
    const auto ticket = one.ticket.value;
    transport_->send({&one, 1}, results_);
    return ticket;
  }

  /// One, and its result.
  spi::SendResult deliver(std::shared_ptr<const spi::Address> to, NewMessage draft = {},
                          Duration time = ample) {
    return results_.of(send(std::move(to), std::move(draft), time));
  }

  Results results_;
  std::unique_ptr<spi::Transport> transport_;

 private:
  TableName table_ = TableName::parse("orders").value();
  UlidSource ids_{system_clock(), system_random()};
  std::uint64_t last_ticket_ = 0;
};

}  // namespace sagabox::testing
