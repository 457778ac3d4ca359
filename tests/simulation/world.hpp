#pragma once

#include "simulation/gate.hpp"
#include "simulation/ledger.hpp"
#include "simulation/operators.hpp"
#include "simulation/script.hpp"
#include "simulation/settings.hpp"
#include "simulation/statistics.hpp"
#include "simulation/trace.hpp"

#include <sagabox/random.hpp>
#include <sagabox/stores/memory.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sagabox::simulation {

class Process;
class Producer;

/// What a run came to.
struct Report {
  std::uint64_t seed = 0;
  std::optional<std::string> violation;
  Statistics statistics;
  std::string trace_tail;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
};

/// Several processes and producers over one store that fails, in one thread and in virtual time.
/// Everything that happens is drawn from the seed.
class World {
 public:
  explicit World(const Settings& settings);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Report run();

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const TableName& table() const noexcept { return table_; }
  [[nodiscard]] BootTime now() const noexcept { return now_; }
  [[nodiscard]] WallTime database_now() const;
  /// The faults are over: everything has to come to rest.
  [[nodiscard]] bool quiet() const noexcept { return quiet_; }
  [[nodiscard]] bool crashes_happen() const noexcept {
    return !quiet_ && settings_.crash_every > Duration{};
  }

  /// `task` happens after `delay`, unless `process` (0: nobody) has died by then. While that one
  /// is paused it waits.
  void after(Duration delay, std::uint64_t process, std::function<void()> task);
  [[nodiscard]] Duration up_to(Duration longest);
  [[nodiscard]] bool chance(std::uint32_t in_ten_thousand);
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_->below(bound); }
  /// How long a call to the store or its reply takes.
  [[nodiscard]] Duration call_time();

  memory::MemoryStore& store() noexcept { return *store_; }
  /// As the variant has them.
  spi::OutboxAdminStore& admin() noexcept { return *admin_; }
  spi::ControlStore& control() noexcept { return *control_; }
  Ledger& ledger() noexcept { return ledger_; }
  [[nodiscard]] const Script& script() const noexcept { return script_; }
  TopicGate& gate() noexcept { return gate_; }
  Statistics& statistics() noexcept { return statistics_; }
  void trace(What what, std::uint64_t process, std::uint64_t a = 0, std::uint64_t b = 0) {
    trace_.add({now_, what, process, a, b});
  }
  void violate(std::string text);

  /// Where the rows of messages are, from the store itself.
  struct Where {
    Sequence sequence;
    Shard shard;
    memory::Inspected::State state;
  };
  [[nodiscard]] std::unordered_map<std::uint64_t, Where> rows();
  /// A look at the store that nothing goes wrong with.
  template <class Look>
  auto muted(Look&& look) {
    const bool was = std::exchange(muted_, true);
    auto seen = std::forward<Look>(look)();
    muted_ = was;
    return seen;
  }
  Operators& operators() noexcept { return *operators_; }

  /// Who holds what, from the store itself.
  [[nodiscard]] spi::Census truth();
  /// What went wrong with the last call of the store.
  [[nodiscard]] memory::Fault last_fault() const noexcept { return last_fault_; }
  [[nodiscard]] Timeline timeline() const noexcept { return timeline_; }

  [[nodiscard]] Process* process_in(std::size_t slot) { return processes_[slot].get(); }
  void crash(std::uint64_t process, std::optional<std::uint64_t> killer = std::nullopt);
  void retire(std::uint64_t process);

  /// Producers of a key take turns.
  bool lock_key(const std::string& key) { return locked_keys_.insert(key).second; }
  void unlock_key(const std::string& key) { locked_keys_.erase(key); }
  [[nodiscard]] bool wants_more_messages() const;
  void business_committed(std::uint64_t row) { business_.insert(row); }
  /// The highest sequence any read has shown of a shard.
  void read_up_to(Shard shard, Sequence sequence);
  [[nodiscard]] Sequence read_to(Shard shard) const { return read_to_[shard.value]; }

 private:
  struct Due {
    BootTime at;
    std::uint64_t tie;
    std::uint64_t order;
    std::uint32_t task;
    friend bool operator>(const Due& a, const Due& b) {
      return std::tie(a.at, a.tie, a.order) > std::tie(b.at, b.tie, b.order);
    }
  };
  struct Task {
    std::uint64_t process = 0;
    std::function<void()> work;
  };
  class DatabaseClock final : public Clock {
   public:
    explicit DatabaseClock(const World& world) : world_(world) {}
    [[nodiscard]] WallTime wall_now() const override { return world_.database_now(); }
    [[nodiscard]] BootTime boot_now() const override { return world_.now_; }

   private:
    const World& world_;
  };

  bool happen();
  [[nodiscard]] Process* find(std::uint64_t process);
  void end(std::uint64_t id, std::optional<std::uint64_t> killer);
  void start_process(std::size_t slot);
  memory::Fault fault(memory::Operation operation);
  void begin_quiet();
  void reopen_all();
  void look_for_rest();
  /// All but what waits for the class that stays closed.
  [[nodiscard]] bool others_settled(std::string& why);
  void open_last_class();
  [[nodiscard]] bool producers_rest(std::string& why) const;
  [[nodiscard]] bool at_rest(std::string& why);
  void check_end();
  void check_counts();

  // What goes wrong, each coming again and again until the quiet phase.
  void again(Duration every, std::function<void()> what);
  void schedule_faults();
  void crash_one();
  void pause_one();
  void stop_one();
  void jump_one();
  void outage();
  void checkpoint();
  void fail_over();
  void turn_gate();
  void corrupt_one();
  Process* any_process();

  const Settings settings_;
  std::unique_ptr<Random> random_;
  TableName table_;
  DatabaseClock database_clock_;
  Statistics statistics_;
  Trace trace_;
  Script script_;
  Ledger ledger_;
  TopicGate gate_;
  std::unique_ptr<memory::MemoryStore> store_;
  std::unique_ptr<spi::OutboxAdminStore> admin_;
  std::unique_ptr<spi::ControlStore> control_;
  std::unique_ptr<Operators> operators_;

  BootTime now_;
  Duration database_ahead_{};
  std::priority_queue<Due, std::vector<Due>, std::greater<>> queue_;
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> free_tasks_;
  std::uint64_t order_ = 0;
  std::uint64_t events_ = 0;

  std::vector<std::unique_ptr<Process>> processes_;  // by slot
  std::vector<std::unique_ptr<Producer>> producers_;
  struct Doomed {
    std::uint64_t process;
    std::optional<std::uint64_t> killer;
  };
  std::vector<Doomed> doomed_;  // die when the present event is over
  std::uint64_t retired_ = 0;
  std::uint64_t last_process_ = 0;
  std::set<std::string> locked_keys_;
  std::set<std::uint64_t> business_;
  std::set<std::uint64_t> business_saved_;
  std::vector<Sequence> read_to_;

  bool quiet_ = false;
  std::optional<std::uint32_t> stays_closed_;  // a topic
  std::size_t messages_beside_max_ = 0;
  bool over_ = false;
  bool muted_ = false;
  bool checkpointed_ = false;
  BootTime outage_until_{};
  BootTime quiet_until_{};
  memory::Fault last_fault_ = memory::Fault::none;
  Timeline timeline_{};
  std::optional<std::string> violation_;
};

/// Runs one seed from beginning to end.
Report simulate(std::uint64_t seed, Variant variant = Variant::none);

}  // namespace sagabox::simulation
