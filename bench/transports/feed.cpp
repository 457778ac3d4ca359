#include "bench/transports/feed.hpp"

#include "bench/measure.hpp"
#include "bench/workload.hpp"

#include <sagabox/random.hpp>

#include <algorithm>
#include <stdexcept>

namespace sagabox::bench::transports {
namespace {

constexpr std::uint32_t batch_max = 64;
constexpr Duration patience = std::chrono::minutes(5);

/// Counts results; what waits is rung for when half of what may be under way has come back.
class Tally final : public spi::SendResults {
 public:
  void sent(spi::Ticket, spi::SendResult result) noexcept override {
    if (result.kind != spi::SendResult::Kind::delivered) {
      const std::lock_guard lock(mutex_);
      if (error_.empty()) error_ = result.error;
      failed_ = true;
    }
    const auto done = done_.fetch_add(1) + 1;
    if (done >= wanted_.load()) done_.notify_all();
  }
  void await(std::uint32_t count) {
    wanted_ = count;
    for (auto done = done_.load(); done < count; done = done_.load()) done_.wait(done);
  }
  [[nodiscard]] std::uint32_t done() const { return done_.load(); }
  void check() {
    const std::lock_guard lock(mutex_);
    if (failed_) throw std::runtime_error("not delivered: " + error_);
  }

 private:
  std::atomic<std::uint32_t> done_ = 0;
  std::atomic<std::uint32_t> wanted_ = 0;
  std::mutex mutex_;
  std::string error_;
  bool failed_ = false;
};

}  // namespace

Feed::Feed(std::uint32_t messages) : deadline_(system_clock().boot_now() + patience) {
  UlidSource ids(system_clock(), system_random());
  all_.reserve(messages);
  for (std::uint32_t number = 0; number < messages; ++number) {
    all_.push_back(std::make_shared<const Message>(
        Message::build(draft(number), {}, ids, system_clock()).value()));
  }
}

spi::Parcel Feed::parcel(std::uint32_t number, std::shared_ptr<const spi::Address> address) const {
  return {.ticket = spi::Ticket{number},
          .message = all_[number],
          .address = std::move(address),
          .table = &table_,
          .sequence = Sequence{number},
          .deadline = deadline_};
}

double Feed::deliver(spi::Transport& transport, const std::string& address) const {
  const auto to = transport.address(address, {}).value();
  const auto under_way_max = transport.traits().in_flight_max;
  Tally tally;
  std::vector<spi::Parcel> batch;
  const auto begin = Steady::now();
  for (std::uint32_t sent = 0; sent < size();) {
    if (sent - tally.done() + batch_max > under_way_max) tally.await(sent - under_way_max / 2);
    const auto count = std::min(batch_max, size() - sent);
    batch.clear();
    for (std::uint32_t i = 0; i < count; ++i) batch.push_back(parcel(sent + i, to));
    transport.send(batch, tally);
    sent += count;
  }
  tally.await(size());
  const auto rate = size() / seconds_since(begin);
  tally.check();
  return rate;
}

}  // namespace sagabox::bench::transports
