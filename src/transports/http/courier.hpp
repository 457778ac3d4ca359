#pragma once

#include "transports/http/exchange.hpp"
#include "transports/http/handle.hpp"
#include "transports/http/sockets.hpp"
#include "transports/http/turns.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox::http {

/// Receives exchanges that have ended.
class Exchanges {
 public:
  virtual ~Exchanges() = default;
  virtual void return_ended(std::span<Exchange* const> ended) = 0;
};

struct CourierSettings {
  AddressGuard guard;
  std::string ca_file;
  Duration connect_max{};
  std::vector<std::string> resolve;
  std::uint32_t connections_max = 1;
  const Clock* clock = nullptr;
};

/// The only thread that uses libcurl. Each exchange ends once: it is given back first, then its
/// result is reported.
class Courier {
 public:
  static Result<std::unique_ptr<Courier>> start(CourierSettings settings, Exchanges& exchanges);
  ~Courier();

  /// Called by any thread. The courier owns the exchanges until it gives them back.
  void take(std::span<Exchange* const> exchanges);
  /// Cancels everything in flight and ends the thread: no result is reported afterwards. Call it
  /// once.
  void stop();

 private:
  struct Told {
    spi::SendResults* results;
    spi::Ticket ticket;
    spi::SendResult result;
  };
  struct MultiCleanup {
    void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
  };
  struct ListCleanup {
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
  };

  Courier(CourierSettings settings, Exchanges& exchanges, std::unique_ptr<Sockets> sockets);
  void run();
  /// Returns false when it should stop.
  bool accept_new();
  void expire();
  void begin_turns();
  void begin(Exchange& exchange);
  void run_timer();
  void collect();
  void look_at(int socket, int bits);
  [[nodiscard]] bool may_have_missed_something() const;
  void look_again();
  void tell();
  void break_off_all();
  void end(Exchange& exchange, spi::SendResult result);
  /// For an exchange of which no byte was sent.
  void end_unsent(Exchange& exchange, spi::SendResult result);
  void put_away(Handle& handle);
  /// Cancels the request. Returns false if its connection stays open, as others may be using it.
  bool break_off(Handle& handle);
  /// Closes the connections that have received nothing since `exchange` began.
  void retire_silent(const Exchange& exchange);
  [[nodiscard]] Duration time_to_wait();
  void wait();

  const CourierSettings settings_;
  Exchanges& exchanges_;
  std::unique_ptr<Sockets> sockets_;
  std::unique_ptr<curl_slist, ListCleanup> resolve_;
  HandleSettings handle_settings_;

  std::mutex mutex_;
  std::vector<Exchange*> inbox_;
  bool stopping_ = false;
  std::atomic<bool> is_asleep_{false};

  // From here on used by the thread only. Handles are destroyed before the multi handle they were
  // in.
  std::unique_ptr<CURLM, MultiCleanup> multi_;
  std::vector<std::unique_ptr<Handle>> handles_;
  std::vector<Handle*> idle_;
  Turns turns_;
  std::set<std::pair<BootTime, Exchange*>> deadlines_;
  std::optional<BootTime> timer_;
  std::vector<Exchange*> accepted_;
  std::vector<Exchange*> ended_;
  std::vector<Told> told_;
  std::thread thread_;
};

}  // namespace sagabox::http
