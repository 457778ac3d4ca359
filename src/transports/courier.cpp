#include "transports/courier.hpp"

#include "transports/broken_pipes.hpp"
#include "transports/room_wait.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <system_error>

namespace sagabox::transports {
namespace {

using spi::SendResult;
using Kind = spi::SendResult::Kind;

/// Bounds the threads that a hanging resolver blocks: each attempt to connect uses one.
constexpr std::uint32_t dials_max = 4;

timespec until(BootTime then, BootTime now) {
  constexpr auto longest = std::chrono::seconds(3600);
  const auto left = std::clamp<Duration>(then - now, Duration::zero(), longest);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
}

}  // namespace

/// An attempt to connect, on a thread of its own: name look-ups, and the connect calls of some
/// libraries, cannot be cancelled. To stop waiting, release it.
struct Courier::Dial {
  std::mutex mutex;
  std::optional<Connected> outcome;
  BootTime give_up_at{};

  std::optional<Connected> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(outcome, std::nullopt);
  }
};

Courier::Courier(Options options, Connect connect)
    : options_(std::move(options)),
      connect_(std::move(connect)),
      wake_(std::make_shared<Wake>()),
      dials_(std::make_shared<std::atomic<std::uint32_t>>(0)),
      thread_([this] { run(); }) {}

Courier::~Courier() { close(options_.clock->boot_now()); }

void Courier::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  std::size_t room = 0;
  bool is_closed = false;
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    is_closed = close_by_.has_value();
    if (!is_closed) {
      const auto used = under_way_.load(std::memory_order_relaxed);
      room = std::min<std::size_t>(parcels.size(), options_.in_flight_max - used);
      under_way_.fetch_add(static_cast<std::uint32_t>(room), std::memory_order_relaxed);
      was_empty = inbox_.empty();
      for (auto& parcel : parcels.first(room)) inbox_.push_back({std::move(parcel), &results});
    }
  }
  if (was_empty && room > 0) wake_->ring();
  for (const auto& parcel : parcels.subspan(room)) {
    if (is_closed) {
      results.sent(parcel.ticket, {Kind::unreachable, options_.server + ": the transport is closed",
                                   std::nullopt});
    } else {
      results.sent(parcel.ticket, {Kind::later,
                                   options_.server + ": " + std::to_string(options_.in_flight_max) +
                                       " messages are under way already",
                                   room_wait});
    }
  }
}

void Courier::close(BootTime deadline) {
  {
    const std::lock_guard lock(mutex_);
    close_by_ = close_by_ ? std::min(*close_by_, deadline) : deadline;
  }
  wake_->ring();
  const std::lock_guard lock(closing_);
  if (thread_.joinable()) thread_.join();
}

void Courier::run() {
  const BrokenPipes are_errors;
  for (;;) {
    const auto now = options_.clock->boot_now();
    wake_->silence();
    take_inbox();
    expire_waiting(now);
    look_after_dial(now);
    work(now);
    expire_posted(now);
    if (closed(now)) return;
    wait();
  }
}

void Courier::take_inbox() {
  {
    const std::lock_guard lock(mutex_);
    taken_.swap(inbox_);
  }
  needed_ = needed_ || !taken_.empty();
  for (auto& handed : taken_) waiting_.add(std::move(handed));
  taken_.clear();
}

void Courier::expire_posted(BootTime now) {
  const auto late = posted_.expire(
      now, {Kind::timed_out, options_.server + ": no answer by the deadline", std::nullopt});
  // Late messages that are still in buffers must not arrive later.
  if (late > 0) lose_link(now, "given up, as another message had no answer by its deadline");
}

void Courier::expire_waiting(BootTime now) {
  if (now < waiting_.expires_next()) return;
  if (link_) {
    waiting_.expire(now,
                    {Kind::later, options_.server + ": the deadline came before it could be sent",
                     std::nullopt});
  } else {
    waiting_.expire(now, {Kind::unreachable,
                          options_.server + ": not connected by the deadline" +
                              (last_error_.empty() ? std::string() : "; last: " + last_error_),
                          std::nullopt});
  }
}

void Courier::look_after_dial(BootTime now) {
  if (dial_) {
    if (auto outcome = dial_->take()) {
      dial_.reset();
      if (*outcome) {
        link_ = std::move(**outcome);
        posted_.restart();
        last_error_.clear();
      } else {
        dial_failed(now, outcome->error());
      }
    } else if (now >= dial_->give_up_at) {
      dial_.reset();
      dial_failed(now, {Code::provider_unavailable, "no connection within the time allowed"});
    }
  }
  if (!link_ && !dial_ && needed_ && now >= dial_not_before_) dial(now);
}

void Courier::dial(BootTime now) {
  if (*dials_ >= dials_max) {
    return dial_failed(now, {Code::provider_unavailable, "earlier attempts to connect still hang"});
  }
  dial_ = std::make_shared<Dial>();
  const auto deadline = now + options_.connect_max;
  // A little longer than the attempt's own deadline: its error text is better than "no answer".
  dial_->give_up_at = deadline + options_.connect_max / 8;
  ++*dials_;
  try {
    std::thread([dial = dial_, wake = wake_, dials = dials_, connect = connect_, deadline] {
      const BrokenPipes are_errors;
      auto outcome = connect(deadline);
      --*dials;
      const std::lock_guard lock(dial->mutex);
      dial->outcome.emplace(std::move(outcome));
      wake->ring();
    }).detach();
  } catch (const std::system_error&) {
    --*dials_;
    dial_.reset();
    dial_failed(now, {Code::provider_unavailable, "no thread to connect with"});
  }
}

void Courier::dial_failed(BootTime now, const Error& error) {
  ++dials_failed_;
  last_error_ = error.message;
  dial_not_before_ = now + backoff();
  waiting_.finish_all({Kind::unreachable, options_.server + ": " + error.message, std::nullopt});
}

Duration Courier::backoff() {
  const auto doublings = std::min(dials_failed_ - 1, 16U);
  const auto longest = std::min(options_.backoff_max, options_.backoff_min * (1U << doublings));
  // Half of it is random, so that many clients of a failed server do not reconnect together.
  return longest / 2 + Duration(static_cast<Duration::rep>(
                           options_.random->unit() * static_cast<double>((longest / 2).count())));
}

void Courier::work(BootTime now) {
  bool more = link_ != nullptr;
  while (more) {
    post_waiting();
    if (auto turned = link_->turn(now, *this); !turned) {
      lose_link(now, turned.error().message);
      return;
    }
    more = !waiting_.empty() && link_->takes_more();
  }
}

void Courier::post_waiting() {
  while (!waiting_.empty() && link_->takes_more()) {
    auto handed = waiting_.take_oldest();
    if (auto refused = link_->post(handed.parcel, posted_.next_number())) {
      under_way_.fetch_sub(1, std::memory_order_relaxed);
      handed.results->sent(handed.parcel.ticket, std::move(*refused));
    } else {
      posted_.add(std::move(handed));
    }
  }
}

void Courier::answered(std::uint64_t number, spi::SendResult result) {
  // The server works: the next loss begins with a short wait again.
  dials_failed_ = 0;
  posted_.finish(number, std::move(result));
}

void Courier::lose_link(BootTime now, const std::string& reason) {
  link_.reset();
  posted_.finish_all({Kind::unreachable,
                      options_.server + ": connection lost before the answer came (" + reason +
                          "); it may have arrived",
                      std::nullopt});
  last_error_ = reason;
  // A server that accepts connections and closes them at once must not be dialled in a loop.
  ++dials_failed_;
  dial_not_before_ = now + backoff();
}

bool Courier::closed(BootTime now) {
  {
    const std::lock_guard lock(mutex_);
    if (!close_by_ || !inbox_.empty()) return false;
    if (now < *close_by_ && !(waiting_.empty() && posted_.empty())) return false;
  }
  const SendResult ended{Kind::unreachable, options_.server + ": closed before it was sent",
                         std::nullopt};
  const SendResult in_doubt{
      Kind::unreachable, options_.server + ": closed before the answer came; it may have arrived",
      std::nullopt};
  if (link_ && posted_.empty()) link_->leave();
  link_.reset();
  dial_.reset();
  waiting_.finish_all(ended);
  posted_.finish_all(in_doubt);
  return true;
}

void Courier::wait() {
  auto wake_at = std::min(waiting_.expires_next(), posted_.expires_next());
  {
    const std::lock_guard lock(mutex_);
    if (close_by_ && !(waiting_.empty() && posted_.empty() && inbox_.empty())) {
      wake_at = std::min(wake_at, *close_by_);
    } else if (close_by_) {
      return;
    }
  }
  std::array<pollfd, 2> fds{{{wake_->descriptor(), POLLIN, 0}, {-1, 0, 0}}};
  if (link_) {
    fds[1] = {link_->fd(), static_cast<short>(POLLIN | (link_->wants_write() ? POLLOUT : 0)), 0};
    wake_at = std::min(wake_at, link_->turn_by());
  } else if (dial_) {
    wake_at = std::min(wake_at, dial_->give_up_at);
  } else if (needed_) {
    wake_at = std::min(wake_at, dial_not_before_);
  }
  const auto timeout = until(wake_at, options_.clock->boot_now());
  ppoll(fds.data(), fds.size(), &timeout, nullptr);
}

}  // namespace sagabox::transports
