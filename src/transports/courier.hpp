#pragma once

#include "transports/pending_parcels.hpp"
#include "transports/wake.hpp"

#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/transport.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::transports {

/// An open connection, with its protocol. Used by one thread.
class Link {
 public:
  class Answers {
   public:
    virtual ~Answers() = default;
    /// Parcels of a link are numbered 1, 2, 3 … in the order in which they were posted. Further
    /// answers to one that has its result are ignored.
    virtual void answered(std::uint64_t number, spi::SendResult result) = 0;
  };

  /// Closes the connection: data that was not sent yet is discarded.
  virtual ~Link() = default;

  /// Starts to send a parcel. Returns a result if it cannot be sent; it has no number then.
  virtual std::optional<spi::SendResult> post(const spi::Parcel& parcel, std::uint64_t number) = 0;
  /// Returns false if so much waits to be written that more would only use memory.
  [[nodiscard]] virtual bool takes_more() const = 0;
  /// Writes and reads as much as possible without blocking. An error says why the connection is
  /// lost.
  virtual Status turn(BootTime now, Answers& answers) = 0;

  [[nodiscard]] virtual int fd() const = 0;
  [[nodiscard]] virtual bool wants_write() const = 0;
  /// The time of the next turn without any input or output, for heartbeats.
  [[nodiscard]] virtual BootTime turn_by() const { return BootTime::max(); }
  /// Called at the end, after everything was answered: sends a goodbye without blocking.
  virtual void leave() {}
};

/// Sends parcels over one connection with one thread: accepts them from any thread, connects for
/// the first one, reconnects with backoff, keeps deadlines, and ensures that each parcel gets one
/// result.
class Courier final : private Link::Answers {
 public:
  using Connected = Result<std::unique_ptr<Link>>;
  /// Connects and logs in; may block, on a thread that may be abandoned. Owns everything it uses.
  using Connect = std::function<Connected(BootTime deadline)>;

  struct Options {
    std::string server{};  ///< for errors: "Redis at 127.0.0.1:6379"
    std::uint32_t in_flight_max = 1024;
    Duration connect_max = std::chrono::seconds(5);
    Duration backoff_min = std::chrono::milliseconds(50);
    Duration backoff_max = std::chrono::seconds(2);
    const Clock* clock = &system_clock();
    Random* random = &system_random();
  };

  Courier(Options options, Connect connect);
  ~Courier() override;
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  /// See `spi::Transport::send` and `close`.
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results);
  void close(BootTime deadline);

 private:
  struct Dial;

  void run();
  void take_inbox();
  void expire_waiting(BootTime now);
  void expire_posted(BootTime now);
  void look_after_dial(BootTime now);
  void dial(BootTime now);
  void dial_failed(BootTime now, const Error& error);
  void work(BootTime now);
  void post_waiting();
  void lose_link(BootTime now, const std::string& reason);
  /// Returns whether there is nothing left to do.
  bool closed(BootTime now);
  void wait();
  void answered(std::uint64_t number, spi::SendResult result) override;
  [[nodiscard]] Duration backoff();

  const Options options_;
  const Connect connect_;
  const std::shared_ptr<Wake> wake_;
  const std::shared_ptr<std::atomic<std::uint32_t>> dials_;  ///< including abandoned ones
  std::atomic<std::uint32_t> under_way_{0};

  std::mutex mutex_;
  std::vector<Handed> inbox_;
  std::optional<BootTime> close_by_;
  std::mutex closing_;  ///< held while the thread is joined

  // Used by the thread only.
  std::vector<Handed> taken_;
  PendingParcels waiting_{under_way_};  ///< not posted yet
  PendingParcels posted_{under_way_};   ///< posted on `link_`, under its numbers
  std::unique_ptr<Link> link_;
  std::shared_ptr<Dial> dial_;
  bool needed_ = false;
  BootTime dial_not_before_{};
  std::uint32_t dials_failed_ = 0;
  std::string last_error_;

  std::thread thread_;
};

}  // namespace sagabox::transports
