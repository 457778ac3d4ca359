#pragma once

#include "transports/http/handle.hpp"

#include <sagabox/result.hpp>

#include <sys/epoll.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sagabox::http {

/// A file descriptor that is closed in the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();
  [[nodiscard]] int get() const noexcept { return number_; }

 private:
  int number_;
};

/// The sockets that libcurl waits for. What it wants of a connection is told to the kernel only
/// before waiting: between two requests it changes its mind several times.
class Sockets final : public SocketWatch {
 public:
  static Result<std::unique_ptr<Sockets>> make();

  /// Any thread; ends a `wait`, or the next one.
  void wake() noexcept;

  struct Event {
    int socket = 0;
    int bits = 0;  ///< CURL_CSELECT_…
  };
  /// Until something happens or the time is over. The events are valid until the next call.
  std::span<const Event> wait(Duration timeout_max);

  /// Those that carry many requests at a time and are waited for.
  [[nodiscard]] const std::vector<int>& shared() const noexcept { return shared_; }
  /// Counts calls of `wait`.
  [[nodiscard]] std::uint64_t round() const noexcept { return round_; }
  /// Cuts the connections to `endpoint` that have said nothing since that round: none of them is
  /// used any more. libcurl must be told of each.
  std::vector<int> cut_silent(const Endpoint* endpoint, std::uint64_t since);
  /// What is closed from here on is cut: what the kernel has not sent yet never leaves.
  void begin_cutting() noexcept;
  /// How many were.
  std::size_t end_cutting() noexcept;
  /// Whose turn it is to be looked at; -1: nobody's.
  void look_at(int socket) noexcept { looked_at_ = socket; }

  /// `what` is CURL_POLL_….
  void want(int socket, int what);
  void opened(int socket, const Endpoint* to) override;
  void closed(int socket) override;
  void is_shared() override;

 private:
  struct Interest {
    std::uint32_t wanted = 0;
    std::uint32_t told = 0;
    bool is_dirty = false;
    bool is_connection = false;  ///< else libcurl's own, whose end is not told
    bool is_shared = false;
    const Endpoint* to = nullptr;
    std::uint64_t heard = 0;  ///< the round in which it last said something
  };

  Sockets(Descriptor epoll, Descriptor wakeup);
  void tell_all();
  void tell(int socket, Interest& interest) const;
  Interest& interest(int socket);

  Descriptor epoll_;
  Descriptor wakeup_;
  std::vector<Interest> interests_;
  std::vector<int> dirty_;
  std::vector<int> shared_;
  int looked_at_ = -1;
  std::uint64_t round_ = 0;
  bool cutting_ = false;
  std::size_t cut_ = 0;
  std::vector<epoll_event> ready_;
  std::vector<Event> events_;
};

}  // namespace sagabox::http
