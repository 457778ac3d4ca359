#pragma once

#include "simulation/script.hpp"
#include "simulation/settings.hpp"
#include "simulation/statistics.hpp"

#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/spi/ownership_store.hpp>
#include <sagabox/spi/transaction.hpp>
#include <sagabox/stores/memory.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace sagabox::simulation {

/// A handler's run, as the world saw it.
struct Run {
  std::uint64_t process = 0;  ///< which one, each start of a process counted anew
  WorkerId worker;
  Epoch epoch{};
  Sequence sequence{};
  std::uint32_t attempt = 0;
  bool cautious = false;
  bool running = true;
  bool gone = false;      ///< its process died
  bool settled = false;   ///< the store took its result
  bool to_retry = false;  ///< … which was a retry
  bool followed = false;  ///< a later run was caused by this one
};

/// What the world knows about one message.
struct Record {
  enum class State : std::uint8_t { unwritten, pending, done, dead, quarantined, lost, purged };

  std::uint64_t number = 0;
  std::string key{};  ///< "tenant/key", as order goes by both
  std::uint32_t topic = 0;
  bool delayed = false;
  Temper temper = Temper::good;
  Refusal refusal = Refusal::none;
  std::optional<BootTime> inserted{};

  State state = State::unwritten;
  Sequence sequence{};
  Shard shard{};
  std::uint32_t attempts = 0;
  bool committed_ever = false;
  bool corrupted = false;
  bool while_closed = false;  ///< committed while its class was closed
  bool late = false;          ///< committed below what had been read

  bool finished = false;  ///< succeeded or failed for good at least once
  std::uint32_t done = 0;
  std::uint32_t excused = 0;  ///< repeats owed to a restored or rewritten row
  std::uint32_t kills = 0;    ///< of processes that had its attempt written
  std::uint32_t burnt = 0;    ///< attempts written without an outcome
  std::uint32_t beside_killer = 0;
  std::uint64_t cautious_in = 0;    ///< the process that wrote its attempt and has not ended it
  std::uint64_t spent_in_vain = 0;  ///< … and let its shard go without having begun it

  std::uint64_t changes = 0;    ///< of its state
  std::uint64_t committed = 0;  ///< which commit of the run this was, or its replay
  WallTime ended_at{};          ///< by the database's clock
  std::uint32_t lives = 1;      ///< replayed or released, it begins anew
  std::set<Sequence> pulled{};  ///< under which an operator took it from the relays' hands
  std::vector<Run> runs{};
};

/// A handler that begins, and what is true of its process at that moment.
struct Start {
  std::uint64_t number = 0;
  std::uint64_t process = 0;
  WorkerId worker;
  Shard shard{};
  Epoch epoch{};
  Sequence sequence{};
  std::uint32_t attempt = 1;
  bool cautious = false;
  bool knows_timeline = true;
  BootTime now{};
  /// Its class is closed.
  bool class_closed = false;
  /// Its process has read that its topic or table is paused.
  bool paused = false;
};

/// The model: what was written and what became of it. Every rule about messages is checked here,
/// at the moment it could break.
class Ledger {
 public:
  using Violate = std::function<void(std::string)>;
  using Now = std::function<WallTime()>;
  /// `now`: the database's clock.
  Ledger(const Settings& settings, Statistics& statistics, Violate violate, Now now)
      : settings_(settings),
        statistics_(statistics),
        violate_(std::move(violate)),
        now_(std::move(now)) {}

  Record& add(Record record);
  [[nodiscard]] Record& at(std::uint64_t number) { return records_[number]; }
  [[nodiscard]] const std::vector<Record>& records() const noexcept { return records_; }
  [[nodiscard]] static std::string id_of(std::uint64_t number);
  [[nodiscard]] static std::optional<std::uint64_t> number_of(const MessageId& id);

  void committed(const Written& written, bool class_closed, bool late);
  void corrupted(std::uint64_t number);

  // What operators did.
  void replayed(std::uint64_t number, Sequence sequence, Shard shard);
  void quarantined(std::uint64_t number);
  void released(std::uint64_t number);
  void purged(std::uint64_t number);

  void started(const Start& start, const spi::Census& truth);
  /// `final`: it succeeded or failed for good.
  struct End {
    std::uint64_t number = 0;
    std::uint64_t process = 0;
    Sequence sequence{};
    bool done = false;
    bool final = false;
  };
  void ended(const End& end);
  /// The killer's process; everything in its hands is free to be repeated.
  void process_gone(std::uint64_t process, std::optional<std::uint64_t> killer);
  void shard_acquired(std::uint64_t process, Shard shard);
  void shard_lost(std::uint64_t process, Shard shard);
  /// Lost because it was given away, drained, as one does.
  void handed_over(std::uint64_t process, Shard shard);
  void settled(const spi::Settlement& item, const WorkerId& worker, std::uint64_t process);

  void checkpoint();
  void failed_over();

  /// Pending although all classes are open but that of the topic `closed`: they are of another
  /// class, and nothing of that class stands in the way of their keys.
  [[nodiscard]] std::vector<const Record*> pending_beside(std::uint32_t closed) const;
  /// After everything came to rest.
  void check_end(const std::vector<memory::Inspected>& rows);
  [[nodiscard]] std::size_t running() const noexcept { return running_.size(); }

 private:
  struct Saved {
    Record::State state;
    Sequence sequence;
    Shard shard;
    std::uint32_t attempts;
    bool corrupted;
    WallTime ended_at;
    bool delayed;
  };
  struct RunRef {
    std::uint64_t number;
    std::size_t run;
  };

  void check_state(const Record& record, const Start& start, bool holds);
  void check_beside(const Record& record, const Start& start, const spi::Census& truth, bool holds);
  void check_order(const Record& record, const Start& start);
  void check_repeat(Record& record, const Start& start, bool holds);
  void check_record(const Record& record, const memory::Inspected* row);
  void check_killers(const Record& record);
  void rule(Event event, bool kept, const std::function<std::string()>& text);
  [[nodiscard]] static bool runs_in(const Record& record, std::uint64_t process);
  [[nodiscard]] bool settled_for_good(const Record& record) const;
  void change(Record& record, Record::State state);
  /// Whatever ran before is over: another run needs no other cause.
  void may_run_again(Record& record);
  void line_up(const Record& record);
  void leave_line(const Record& record);

  const Settings& settings_;
  Statistics& statistics_;
  Violate violate_;
  Now now_;
  std::vector<Record> records_;
  std::unordered_map<std::string, std::map<Sequence, std::uint64_t>> lines_;  // by key
  std::vector<RunRef> running_;
  std::optional<std::vector<Saved>> saved_;
  bool any_fail_over_ = false;
  bool any_killer_again_ = false;
  std::uint64_t commits_ = 0;
};

std::string describe(const Record& record);

}  // namespace sagabox::simulation
