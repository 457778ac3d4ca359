#include "cli/demo/order_service.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace sagabox::cli {
namespace {

constexpr Duration pause = std::chrono::milliseconds(2);
/// A shop that falls behind its rate catches up at most this much.
constexpr Duration arrears_max = std::chrono::milliseconds(500);

constexpr std::string_view aggregate = "order";
constexpr std::string_view order_prefix = "order-";

/// True for `percent` of all numbers; always the same ones.
bool is_among(std::string_view order, double percent) {
  constexpr std::uint64_t steps = 100'000;
  return static_cast<double>(stable_hash(order) % steps) < percent * (steps / 100.0);
}

std::uint64_t number_of(std::string_view order) {
  order.remove_prefix(order_prefix.size());
  std::uint64_t number = 0;
  (void)std::from_chars(order.data(), order.data() + order.size(), number);
  return number;
}

}  // namespace

OrderService::OrderService(OrderBook& book, Outbox& outbox, OrderServiceOptions options,
                           const Clock& clock, Random& random)
    : book_(book), outbox_(outbox), options_(options), clock_(clock), random_(random) {}

OrderService::~OrderService() { close(); }

Status OrderService::listen() {
  return outbox_.listen(AggregateType(aggregate), Topic(topic),
                        [this](const Delivery& delivery) { return send_receipt(delivery); });
}

void OrderService::open() {
  shop_ = std::thread([this] { sell(); });
}

void OrderService::close() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (shop_.joinable()) shop_.join();
}

std::optional<Error> OrderService::error() const {
  const std::scoped_lock lock(mutex_);
  return error_;
}

void OrderService::sell() {
  const auto interval = Duration(std::chrono::seconds(1)) / options_.rate;
  auto due = clock_.boot_now();
  std::unique_lock lock(mutex_);
  while (!closing_ && !error_ && !sold_out_) {
    lock.unlock();
    Status placed;
    const auto now = clock_.boot_now();
    due = std::max(due, now - arrears_max);
    for (; due <= now && placed.ok() && placed_ < options_.orders_max; due += interval) {
      placed = place_order();
    }
    sold_out_ = placed_ >= options_.orders_max;
    lock.lock();
    if (!placed.ok()) error_ = placed.error();
    changed_.wait_for(lock, pause, [this] { return closing_; });
  }
}

/// Does what a request handler of a real service does.
Status OrderService::place_order() {
  // Guests have no account, so their orders need no ordering key.
  const auto customer = random_.below(2) == 0
                            ? std::string()
                            : "customer-" + std::to_string(random_.below(options_.customers));
  const auto cents = 100 + random_.below(99'900);
  const bool rolls_back = random_.unit() * 100 < options_.rollback_percent;
  ++placed_;
  auto placed = book_.place(
      cents,
      [&](Transaction& tx, std::uint64_t number) -> Status {
        last_ = number;
        const auto order = std::string(order_prefix) + std::to_string(number);
        auto written =
            outbox_.write(tx, {.topic = Topic(topic),
                               .key = customer,
                               .payload = json(R"({"order": ")" + order + R"(", "cents": )" +
                                               std::to_string(cents) + "}"),
                               .aggregate_type = AggregateType(aggregate),
                               .aggregate_id = order});
        if (!written.ok()) return written.error();
        return {};
      },
      rolls_back ? OrderBook::End::rollback : OrderBook::End::commit);
  if (placed.ok() && rolls_back) rolled_back_.fetch_add(1);
  return placed;
}

Outcome OrderService::send_receipt(const Delivery& delivery) {
  const auto& order = delivery.message().aggregate_id();
  auto known = book_.has(number_of(order));
  if (!known.ok()) return retry(known.error().text());
  if (!*known) ghosts_.fetch_add(1);

  const bool wrong_address = has_wrong_address(order);
  if (wrong_address || random_.unit() * 100 < options_.fail_percent) {
    attempts_failed_.fetch_add(1);
    throw std::runtime_error(wrong_address ? "no such mailbox" : "the mail server hung up");
  }
  return done();
}

bool OrderService::has_wrong_address(std::string_view order) const {
  return is_among(order, options_.fail_percent / 10) && number_of(order) > corrected_;
}

}  // namespace sagabox::cli
