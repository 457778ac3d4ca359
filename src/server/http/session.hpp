#pragma once

#include "server/http/body_budget.hpp"
#include "server/http/listener_options.hpp"
#include "server/http/request_handler.hpp"
#include "server/http/request_reader.hpp"
#include "server/http/session_list.hpp"
#include "server/http/wire.hpp"
#include "server/http/workers.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace sagabox::server {

/// Shared by all connections of a listener. Must outlive them.
struct SessionContext {
  const ListenerOptions& options;
  RequestHandler& handler;
  Workers& workers;
  BodyBudget& bodies;
  RequestWatch& watch;
  SessionList& sessions;
  std::atomic<bool> stopping{false};
};

/// One connection: reads a request, passes it to the handler, writes the answer, and repeats.
/// Everything runs on the strand of its wire.
class Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionContext& context, std::unique_ptr<Wire> wire);
  ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start();
  /// Ends after the current request, if there is one. Thread-safe.
  void finish();
  /// Ends now. Thread-safe.
  void cut();
  /// Since when it waits for a request; BootTime::max() if it does not. Thread-safe.
  [[nodiscard]] BootTime idle_since() const noexcept {
    return BootTime(Duration(idle_since_.load(std::memory_order_relaxed)));
  }

 private:
  enum class Phase : std::uint8_t {
    opening,
    idle,
    header,
    body,
    answering,
    writing,
    ending,
    ended
  };

  [[nodiscard]] const ListenerOptions& options() const { return context_.options; }
  [[nodiscard]] bool finishing() const { return finishing_ || context_.stopping; }
  [[nodiscard]] bool is_reading() const;
  /// Enters a phase, which may last at most `limit`.
  void enter(Phase phase, Duration limit);
  void too_late();
  void close();

  void wait_for_request();
  void read_more();
  void have_read(Wire::End end, std::size_t bytes);
  /// Handles a failed read.
  void have_not_read();
  void advance();
  /// Returns false if another operation continues with the request.
  bool have_header();
  void let_send();
  void have_request();
  void have_answer(std::uint64_t number, Response response);

  void refuse(unsigned status, Code code, std::string message);
  void write(Response response);
  void have_written(Wire::End end);
  void hang_up();
  void drain(std::size_t so_far);

  /// When the last connection is unregistered, the listener may end: so this is destroyed last.
  struct Registered {
    SessionList& sessions;
    Session* session;
    ~Registered() { sessions.remove(session); }
  };

  SessionContext& context_;
  Registered registered_;  // destroyed after the members below
  std::unique_ptr<Wire> wire_;
  RequestReader reader_;
  std::array<char, 16UL * 1024> bytes_{};

  Phase phase_ = Phase::opening;
  std::atomic<Duration::rep> idle_since_{BootTime::max().time_since_epoch().count()};
  bool finishing_ = false;
  bool late_ = false;        // the limit has passed and the read is being cancelled
  std::uint64_t asked_ = 0;  // requests so far; an answer to an earlier one is too late

  // For the current request.
  Admission admission_;
  BodyBudget::Hold body_;
  std::string method_;
  std::string request_id_;
  BootTime begun_{};
  bool keep_alive_ = false;
  std::string answer_head_;
  std::string answer_body_;
};

}  // namespace sagabox::server
