#pragma once

#include "support/collected_results.hpp"

#include <sagabox/random.hpp>
#include <sagabox/spi/transport.hpp>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::testing {

/// Sends parcels to a transport and waits for their results. The transport is closed first.
class Parcels {
 public:
  /// For an overloaded machine.
  static constexpr Duration ample = std::chrono::seconds(60);

  explicit Parcels(spi::Transport& transport) : transport_(transport) {}
  ~Parcels() { transport_.close(system_clock().boot_now()); }
  Parcels(const Parcels&) = delete;
  Parcels& operator=(const Parcels&) = delete;

  [[nodiscard]] spi::Parcel parcel(const std::shared_ptr<const spi::Address>& address,
                                   NewMessage draft = {}, Duration time = ample) {
    if (draft.topic.empty()) draft.topic = "orders.order.placed.v1";
    if (!draft.payload.given()) draft.payload = json("{}");
    const auto ticket = ++last_;
    return {.ticket = spi::Ticket{ticket},
            .message = std::make_shared<const Message>(
                Message::build(std::move(draft), {}, ids_, system_clock()).value()),
            .address = address,
            .table = &table_,
            .sequence = Sequence{ticket},
            .deadline = system_clock().boot_now() + time};
  }
  [[nodiscard]] std::shared_ptr<const spi::Address> address(
      std::string_view text, const spi::AddressSettings& settings = {}) {
    return transport_.address(text, settings).value();
  }

  spi::SendResult send(const std::shared_ptr<const spi::Address>& to, NewMessage draft = {},
                       Duration time = ample) {
    std::vector<spi::Parcel> one{parcel(to, std::move(draft), time)};
    const auto ticket = one.front().ticket.value;
    transport_.send(one, results_);
    return results_.only(ticket);
  }
  spi::SendResult send(std::string_view to, const spi::AddressSettings& settings = {}) {
    return send(address(to, settings));
  }
  /// Sends them at once; returns their results in the same order.
  std::vector<spi::SendResult> send(std::vector<spi::Parcel> all) {
    std::vector<spi::Ticket> tickets;
    for (const auto& one : all) tickets.push_back(one.ticket);
    transport_.send(all, results_);
    std::vector<spi::SendResult> came;
    for (const auto ticket : tickets) came.push_back(results_.only(ticket.value));
    return came;
  }

 private:
  spi::Transport& transport_;
  CollectedResults results_;
  TableName table_ = TableName::parse("orders").value();
  UlidSource ids_{system_clock(), system_random()};
  std::uint64_t last_ = 0;
};

}  // namespace sagabox::testing
