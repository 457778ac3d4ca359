#include "transports/http/sockets.hpp"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace sagabox::http {
namespace {

constexpr std::size_t events_max = 256;
constexpr Duration wait_max = std::chrono::minutes(1);

std::uint32_t events_of(int what) {
  switch (what) {
    case CURL_POLL_IN:
      return EPOLLIN;
    case CURL_POLL_OUT:
      return EPOLLOUT;
    case CURL_POLL_INOUT:
      return EPOLLIN | EPOLLOUT;
    default:
      return 0;
  }
}

int bits_of(std::uint32_t events) {
  int bits = 0;
  if ((events & (EPOLLIN | EPOLLHUP)) != 0) bits |= CURL_CSELECT_IN;
  if ((events & EPOLLOUT) != 0) bits |= CURL_CSELECT_OUT;
  if ((events & EPOLLERR) != 0) bits |= CURL_CSELECT_ERR;
  return bits;
}

void drop_unsent(int socket) {
  // Closing then resets the connection, and the kernel discards unsent data.
  const linger none{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

void disconnect(int socket) {
  drop_unsent(socket);
  // Resets the connection at once, but keeps the descriptor open for its owner.
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  if (connect(socket, &nowhere, sizeof nowhere) != 0) shutdown(socket, SHUT_RDWR);
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Result<std::unique_ptr<Sockets>> Sockets::make() {
  Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  Descriptor wakeup(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wakeup.get();
  if (epoll.get() < 0 || wakeup.get() < 0 ||
      epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wakeup.get(), &event) != 0) {
    return Error{Code::unknown_internal,
                 "no file descriptors are left for waiting on sockets; raise `ulimit -n`"};
  }
  return std::unique_ptr<Sockets>(new Sockets(std::move(epoll), std::move(wakeup)));
}

Sockets::Sockets(Descriptor epoll, Descriptor wakeup)
    : epoll_(std::move(epoll)), wakeup_(std::move(wakeup)), ready_(events_max) {
  events_.reserve(events_max);
}

void Sockets::wake() noexcept {
  const std::uint64_t one = 1;
  // The write fails only after 2^64 calls without a read: the eventfd is readable then too.
  [[maybe_unused]] const auto written = write(wakeup_.get(), &one, sizeof one);
}

Sockets::Interest& Sockets::interest(int socket) {
  const auto at = static_cast<std::size_t>(socket);
  if (at >= interests_.size()) interests_.resize(std::max(at + 1, interests_.size() * 2));
  return interests_[at];
}

void Sockets::want(int socket, int what) {
  auto& interest = this->interest(socket);
  interest.wanted = events_of(what);
  if (!interest.is_connection) {
    tell(socket, interest);
  } else if (!interest.is_dirty) {
    interest.is_dirty = true;
    dirty_.push_back(socket);
  }
}

void Sockets::opened(int socket, const Endpoint* to) {
  auto& interest = this->interest(socket);
  interest.to = to;
  interest.heard = round_ + 1;
  interest.told = 0;
  interest.is_connection = true;
}

void Sockets::begin_cutting() noexcept {
  cutting_ = true;
  cut_ = 0;
}

std::size_t Sockets::end_cutting() noexcept {
  cutting_ = false;
  return cut_;
}

std::vector<int> Sockets::cut_silent(const Endpoint* endpoint, std::uint64_t since) {
  std::vector<int> silent;
  for (std::size_t at = 0; at < interests_.size(); ++at) {
    const auto& interest = interests_[at];
    if (!interest.is_connection || interest.to != endpoint || interest.heard > since) continue;
    silent.push_back(static_cast<int>(at));
    disconnect(silent.back());
  }
  return silent;
}

void Sockets::closed(int socket) {
  if (cutting_) {
    drop_unsent(socket);
    ++cut_;
  }
  // The kernel forgets a socket when it is closed.
  auto& interest = this->interest(socket);
  interest.wanted = 0;
  interest.told = 0;
  interest.is_connection = false;
  if (std::exchange(interest.is_shared, false)) std::erase(shared_, socket);
}

void Sockets::is_shared() {
  if (looked_at_ < 0 || std::exchange(interest(looked_at_).is_shared, true)) return;
  shared_.push_back(looked_at_);
}

void Sockets::tell(int socket, Interest& interest) const {
  if (interest.wanted == interest.told) return;
  epoll_event event{};
  event.events = interest.wanted;
  event.data.fd = socket;
  if (interest.wanted == 0) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);  // fails if it has been closed
  } else if (epoll_ctl(epoll_.get(), interest.told == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket,
                       &event) != 0) {
    // The kernel's state differs from ours: use the other operation.
    epoll_ctl(epoll_.get(), interest.told == 0 ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
  }
  interest.told = interest.wanted;
}

void Sockets::tell_all() {
  for (const auto socket : dirty_) {
    auto& interest = interests_[static_cast<std::size_t>(socket)];
    interest.is_dirty = false;
    tell(socket, interest);
  }
  dirty_.clear();
}

std::span<const Sockets::Event> Sockets::wait(Duration timeout_max) {
  tell_all();
  const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(
      std::clamp(timeout_max, Duration::zero(), wait_max));
  const auto count = epoll_wait(epoll_.get(), ready_.data(), static_cast<int>(ready_.size()),
                                static_cast<int>(timeout.count()));
  events_.clear();
  ++round_;
  for (int i = 0; i < count; ++i) {
    const auto& event = ready_[static_cast<std::size_t>(i)];
    if (event.data.fd == wakeup_.get()) {
      std::uint64_t rung = 0;
      [[maybe_unused]] const auto bytes = read(wakeup_.get(), &rung, sizeof rung);
    } else {
      if ((event.events & EPOLLIN) != 0) interest(event.data.fd).heard = round_;
      events_.push_back({event.data.fd, bits_of(event.events)});
    }
  }
  return events_;
}

}  // namespace sagabox::http
