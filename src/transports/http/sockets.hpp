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

/// A file descriptor that the destructor closes.
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

/// The sockets that libcurl waits for. Changes are passed to the kernel only before a wait: between
/// two requests libcurl changes them several times.
class Sockets final : public SocketWatch {
 public:
  static Result<std::unique_ptr<Sockets>> make();

  /// May be called by any thread; ends the current `wait`, or the next one.
  void wake() noexcept;

  struct Event {
    int socket = 0;
    int bits = 0;  ///< CURL_CSELECT_…
  };
  /// Waits for an event or the timeout. The events are valid until the next call.
  std::span<const Event> wait(Duration timeout_max);

  /// The sockets of connections with several requests at a time that libcurl waits for.
  [[nodiscard]] const std::vector<int>& shared() const noexcept { return shared_; }
  /// Counts calls of `wait`.
  [[nodiscard]] std::uint64_t round() const noexcept { return round_; }
  /// Closes the connections to `endpoint` that have received nothing since that round, so that none
  /// of them is used any more. libcurl must be notified about each.
  std::vector<int> cut_silent(const Endpoint* endpoint, std::uint64_t since);
  /// Sockets closed from here on are reset: data still in the kernel is discarded.
  void begin_cutting() noexcept;
  /// Returns how many were reset.
  std::size_t end_cutting() noexcept;
  /// The socket that libcurl processes now; -1: none.
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
    bool is_connection = false;  ///< otherwise libcurl's own, whose end is not reported
    bool is_shared = false;
    const Endpoint* to = nullptr;
    std::uint64_t heard = 0;  ///< the round in which it last received something
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
