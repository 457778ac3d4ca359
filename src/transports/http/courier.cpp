#include "transports/http/courier.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <new>

namespace sagabox::http {
namespace {

using Kind = spi::SendResult::Kind;

constexpr Duration second_look = std::chrono::milliseconds(20);
constexpr Duration idle_wait = std::chrono::minutes(1);

/// Signals are blocked here, so that other threads of the program handle them.
std::thread deaf_thread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

Result<std::unique_ptr<Courier>> Courier::start(CourierSettings settings, Exchanges& exchanges) {
  auto sockets = Sockets::make();
  if (!sockets) return sockets.error();
  std::unique_ptr<Courier> courier(
      new Courier(std::move(settings), exchanges, std::move(sockets).value()));
  auto* const self = courier.get();
  courier->thread_ = deaf_thread([self] { self->run(); });
  return courier;
}

Courier::Courier(CourierSettings settings, Exchanges& exchanges, std::unique_ptr<Sockets> sockets)
    : settings_(std::move(settings)),
      exchanges_(exchanges),
      sockets_(std::move(sockets)),
      handle_settings_{settings_.guard, settings_.ca_file, settings_.connect_max, nullptr,
                       *sockets_},
      multi_(curl_multi_init()),
      turns_(settings_.connections_max) {
  if (!multi_) throw std::bad_alloc();
  for (const auto& entry : settings_.resolve) {
    auto* const longer = curl_slist_append(resolve_.get(), entry.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    [[maybe_unused]] auto* const before = resolve_.release();
    resolve_.reset(longer);
  }
  handle_settings_.resolve = resolve_.get();
  using OnSocket = int (*)(CURL*, curl_socket_t, int, void*, void*);
  using OnTimer = int (*)(CURLM*, long, void*);
  auto* const multi = multi_.get();
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(settings_.connections_max));
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, sockets_.get());
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION,
                    OnSocket([](CURL*, curl_socket_t socket, int what, void* all, void*) {
                      static_cast<Sockets*>(all)->want(socket, what);
                      return 0;
                    }));
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, OnTimer([](CURLM*, long after, void* self) {
                      auto& courier = *static_cast<Courier*>(self);
                      courier.timer_.reset();
                      if (after < 0) return 0;
                      const auto now = courier.settings_.clock->boot_now();
                      courier.timer_ = now + std::chrono::milliseconds(after);
                      return 0;
                    }));
}

Courier::~Courier() { stop(); }

void Courier::take(std::span<Exchange* const> exchanges) {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.insert(inbox_.end(), exchanges.begin(), exchanges.end());
  }
  if (is_asleep_.exchange(false)) sockets_->wake();
}

void Courier::stop() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  sockets_->wake();
  thread_.join();
}

void Courier::run() {
  while (accept_new()) {
    expire();
    begin_turns();
    run_timer();
    collect();
    tell();
    wait();
  }
  break_off_all();
}

bool Courier::accept_new() {
  bool stopping = false;
  {
    const std::scoped_lock lock(mutex_);
    accepted_.swap(inbox_);
    stopping = stopping_;
  }
  for (auto* const exchange : accepted_) {
    deadlines_.emplace_hint(deadlines_.end(), exchange->deadline, exchange);
    turns_.add(*exchange);
  }
  accepted_.clear();
  return !stopping;
}

void Courier::begin_turns() {
  while (auto* const turn = turns_.next()) begin(static_cast<Exchange&>(*turn));
}

void Courier::begin(Exchange& exchange) {
  try {
    if (idle_.empty()) {
      idle_.push_back(handles_.emplace_back(std::make_unique<Handle>(handle_settings_)).get());
    }
    idle_.back()->begin(exchange);
  } catch (const std::bad_alloc&) {
    return end_unsent(exchange, {Kind::failed, "libcurl had no memory for the request"});
  }
  auto& handle = *idle_.back();
  idle_.pop_back();
  exchange.begun = sockets_->round();
  if (curl_multi_add_handle(multi_.get(), handle.easy()) != CURLM_OK) {
    put_away(handle);
    end_unsent(exchange, {Kind::failed, "libcurl did not take the request"});
  }
}

void Courier::run_timer() {
  int running = 0;
  // The timer of a new transfer is due at once.
  if (timer_ && *timer_ <= settings_.clock->boot_now()) {
    // The timer fires once; libcurl sets another if it needs one.
    timer_.reset();
    curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

void Courier::collect() {
  int left = 0;
  while (const auto* const message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    // `message` becomes invalid when its handle is removed.
    auto& handle = Handle::of(message->easy_handle);
    auto result = handle.result(message->data.result, settings_.clock->wall_now());
    auto& exchange = *handle.exchange();
    curl_multi_remove_handle(multi_.get(), handle.easy());
    put_away(handle);
    end(exchange, std::move(result));
  }
}

void Courier::put_away(Handle& handle) {
  handle.end();
  idle_.push_back(&handle);
}

bool Courier::break_off(Handle& handle) {
  sockets_->begin_cutting();
  curl_multi_remove_handle(multi_.get(), handle.easy());
  const auto cut = sockets_->end_cutting();
  put_away(handle);
  return cut > 0;
}

void Courier::retire_silent(const Exchange& exchange) {
  // A connection with many streams outlives requests that time out, even if it is dead. Other
  // requests on it are sent on another connection, or end.
  for (const auto socket : sockets_->cut_silent(exchange.endpoint, exchange.begun)) {
    look_at(socket, CURL_CSELECT_IN);
  }
}

void Courier::end(Exchange& exchange, spi::SendResult result) {
  if (exchange.is_waiting) {
    turns_.withdraw(exchange);
  } else {
    turns_.ended(exchange);
  }
  deadlines_.erase({exchange.deadline, &exchange});
  told_.push_back({exchange.results, exchange.parcel.ticket, std::move(result)});
  ended_.push_back(&exchange);
}

void Courier::end_unsent(Exchange& exchange, spi::SendResult result) {
  result.reach = spi::Reach::not_sent;
  end(exchange, std::move(result));
}

void Courier::expire() {
  const auto now = settings_.clock->boot_now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    auto& exchange = *deadlines_.begin()->second;
    if (exchange.is_waiting) {
      end_unsent(exchange, {Kind::later, "waited for its turn at " + exchange.address->host +
                                             " until the deadline: too many others were there"});
      continue;
    }
    auto& handle = *exchange.handle;
    auto result = handle.result(std::nullopt, settings_.clock->wall_now());
    const bool closed = break_off(handle);
    if (!closed && result.kind == Kind::timed_out) retire_silent(exchange);
    end(exchange, std::move(result));
  }
}

void Courier::tell() {
  if (ended_.empty()) return;
  for (auto* const exchange : ended_) exchange->clear();
  // Given back first, so that a callback of the result can use the freed exchange.
  exchanges_.return_ended(ended_);
  ended_.clear();
  for (auto& one : told_) one.results->sent(one.ticket, std::move(one.result));
  told_.clear();
}

Duration Courier::time_to_wait() {
  if (turns_.may_go()) return Duration::zero();
  auto until = settings_.clock->boot_now();
  const auto now = until;
  until += idle_wait;
  if (timer_) until = std::min(until, *timer_);
  if (!deadlines_.empty()) until = std::min(until, deadlines_.begin()->first);
  if (may_have_missed_something()) until = std::min(until, now + second_look);
  return std::max(until - now, Duration::zero());
}

void Courier::wait() {
  auto timeout = time_to_wait();
  is_asleep_.store(true);
  {
    const std::scoped_lock lock(mutex_);
    if (!inbox_.empty() || stopping_) timeout = Duration::zero();
  }
  const auto events = sockets_->wait(timeout);
  is_asleep_.store(false);
  for (const auto& event : events) look_at(event.socket, event.bits);
  look_again();
  collect();
}

void Courier::look_at(int socket, int bits) {
  int running = 0;
  sockets_->look_at(socket);
  curl_multi_socket_action(multi_.get(), socket, bits, &running);
  sockets_->look_at(-1);
}

bool Courier::may_have_missed_something() const {
  return !sockets_->shared().empty() && !deadlines_.empty();
}

void Courier::look_again() {
  // libcurl 7.88 does not always notice the end of an HTTP/2 stream if it is the one it reads for,
  // and would wait for more data on the connection, which may never arrive.
  if (!may_have_missed_something()) return;
  const auto shared = sockets_->shared();
  for (const auto socket : shared) look_at(socket, CURL_CSELECT_IN);
}

void Courier::break_off_all() {
  bool broke_off = false;
  while (!deadlines_.empty()) {
    auto& exchange = *deadlines_.begin()->second;
    if (exchange.is_waiting) {
      end_unsent(exchange, {Kind::unreachable, "closed before it was sent"});
      continue;
    }
    auto& handle = *exchange.handle;
    auto result = handle.result(std::nullopt, settings_.clock->wall_now());
    if (result.reach != spi::Reach::answered) {
      result.kind = Kind::timed_out;
      result.error = "closed before " + exchange.address->host + " answered";
    }
    break_off(handle);
    broke_off = true;
    end(exchange, std::move(result));
  }
  tell();
  handles_.clear();
  // Connections with several streams are still open.
  if (broke_off) sockets_->begin_cutting();
  multi_.reset();
}

}  // namespace sagabox::http
