#pragma once

#include "simulation/ledger.hpp"

#include <sagabox/records.hpp>
#include <sagabox/spi/control_store.hpp>
#include <sagabox/spi/outbox_admin_store.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::simulation {

class World;

/// People who act on the table while everything else goes wrong, and what they may expect of it.
/// Whether a call that was lost had happened is known to the world alone.
class Operators {
 public:
  explicit Operators(World& world) : world_(world) {}

  void act();
  /// The faults are over: whatever was paused goes on, running jobs end.
  void leave();
  void fail_over();

  /// A process has asked for the next batch of a job.
  void advanced(ReplayJobId job);
  /// Somebody has asked for a purge.
  void purged(MessageState state, Duration older_than);
  [[nodiscard]] bool jobs_rest(std::string& why);
  /// What is paused in the store: topics, and "" for the table.
  [[nodiscard]] const std::set<std::string>& paused() const noexcept { return paused_; }
  /// Every act and every death is in the audit log, and the log holds.
  void check_audit();

 private:
  struct Tracked {
    std::uint64_t replayed = 0;
    bool followed = true;  ///< until a fail-over brought back an older state of it
    /// What it must replay unless somebody else moves it first: the message, and how often it had
    /// changed its state.
    std::set<std::pair<std::uint64_t, std::uint64_t>> expected;
  };

  void move(spi::Move move);
  void moved(spi::Move move, const std::vector<std::uint64_t>& numbers,
             const Result<spi::MoveReply>& reply);
  void turn_pause();
  void purge();
  void start_job();
  void turn_job();
  void watch_new_jobs(MessageState from, const std::string& topic);
  /// Whether the last call had its effect.
  [[nodiscard]] bool happened() const;
  [[nodiscard]] std::vector<std::uint64_t> choose(spi::Move move);
  [[nodiscard]] std::vector<ReplayJob> jobs();
  void rule(Event event, bool kept, const std::string& text);

  World& world_;
  std::set<std::string> paused_;
  std::map<std::uint64_t, Tracked> tracked_;
};

}  // namespace sagabox::simulation
