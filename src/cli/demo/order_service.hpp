#pragma once

#include "cli/demo/order_book.hpp"

#include <sagabox/outbox.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace sagabox::cli {

/// The business of the demo: a shop that writes every order and its message in one transaction, and
/// a mailer that receives each order and sometimes fails.
struct OrderServiceOptions {
  std::uint32_t rate = 500;  ///< orders a second
  /// Percentage of the mailer's attempts; a tenth as many orders have a wrong address.
  double fail_percent = 5;
  double rollback_percent = 3;  ///< percentage of the shop's transactions
  std::uint32_t customers = 200;
  /// The shop closes after this process has written this many.
  std::uint64_t orders_max = 1'000'000;
};

class OrderService {
 public:
  static constexpr std::string_view topic = "orders.order.placed.v1";

  /// Book and outbox must outlive the service.
  OrderService(OrderBook& book, Outbox& outbox, OrderServiceOptions options, const Clock& clock,
               Random& random);
  ~OrderService();
  OrderService(const OrderService&) = delete;
  OrderService& operator=(const OrderService&) = delete;

  /// Registers the mailer; call it before the outbox starts.
  Status listen();
  void open();
  /// Stops new orders; returns when the last transaction has ended.
  void close();
  /// Corrects the wrong addresses of all orders so far.
  void correct_addresses() { corrected_ = last_.load(); }

  /// The permanent error, if there is one: no more orders are written then.
  [[nodiscard]] std::optional<Error> error() const;
  [[nodiscard]] bool sold_out() const { return sold_out_.load(); }
  [[nodiscard]] std::uint64_t rolled_back() const { return rolled_back_.load(); }
  [[nodiscard]] std::uint64_t attempts_failed() const { return attempts_failed_.load(); }
  /// Messages whose order is not in the book. There must be none.
  [[nodiscard]] std::uint64_t ghosts() const { return ghosts_.load(); }

 private:
  void sell();
  Status place_order();
  Outcome send_receipt(const Delivery& delivery);
  [[nodiscard]] bool has_wrong_address(std::string_view order) const;

  OrderBook& book_;
  Outbox& outbox_;
  const OrderServiceOptions options_;
  const Clock& clock_;
  Random& random_;

  std::atomic<std::uint64_t> placed_{0};     // orders of this process, rolled back or not
  std::atomic<std::uint64_t> last_{0};       // number of the last order
  std::atomic<std::uint64_t> corrected_{0};  // orders up to this number are corrected
  std::atomic<bool> sold_out_{false};
  std::atomic<std::uint64_t> rolled_back_{0};
  std::atomic<std::uint64_t> attempts_failed_{0};
  std::atomic<std::uint64_t> ghosts_{0};

  mutable std::mutex mutex_;  // guards the three members below
  std::condition_variable changed_;
  bool closing_ = false;
  std::optional<Error> error_;
  std::thread shop_;
};

}  // namespace sagabox::cli
