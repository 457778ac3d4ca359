#pragma once

#include "saga/calls/caller.hpp"
#include "saga/calls/fair_calls.hpp"

#include <sagabox/log.hpp>
#include <sagabox/saga.hpp>
#include <sagabox/time.hpp>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace sagabox::saga {

struct FunctionOptions {
  std::uint32_t workers = 4;
  std::uint32_t spare_workers_max = 4;
  std::string reply_secret{};
  WallTime::duration reply_ttl{};  ///< of its tokens
  const Clock* clock = &system_clock();
  Logger* log = &no_log();
};

/// State that completions share with the functions, which they can outlive.
struct FunctionsLink {
  std::shared_mutex mutex;  // of `alive`
  bool alive = true;        ///< whether completions may still tell anyone

  std::mutex open_mutex;  // of `open`
  /// Calls that were answered with `saga_later()` and have not been completed.
  std::unordered_map<CallTicket, std::weak_ptr<SagaCompletion::State>> open;

  void keep(CallTicket ticket, const std::shared_ptr<SagaCompletion::State>& completion);
  void forget(CallTicket ticket);
  /// Ends the call in doubt if it is open.
  void give_up(CallTicket ticket);
};

/// Calls the functions of this process, on a bounded number of threads. Definitions take turns. A
/// function past its deadline keeps its thread; a spare one stands in for it. A call that has
/// waited for a thread for half of its time ends as unreachable, which costs no attempt: what is
/// left of its time may not be enough for it.
class Functions final : public Caller {
 public:
  explicit Functions(FunctionOptions options) : options_(std::move(options)) {}
  /// Waits for functions that run.
  ~Functions() override;
  Functions(const Functions&) = delete;
  Functions& operator=(const Functions&) = delete;

  /// Before the first call. TX.INVALID_STATE: the name is taken.
  Status add(std::string name, SagaFunction function);
  [[nodiscard]] bool has(std::string_view name) const { return functions_.contains(name); }

  void call(std::vector<CallOrder> orders, CallResults& results) override;
  void abandon(CallTicket ticket) override;
  bool withdraw(CallTicket ticket) override;

  /// What waits is not begun any more, and what runs is told to stop. Returns how many still run.
  std::size_t begin_stop();
  [[nodiscard]] std::size_t running() const;
  /// Calls that were answered with `saga_later()` and have not ended.
  [[nodiscard]] std::size_t open_completions() const;

 private:
  struct Task {
    CallOrder order;
    CallResults* results = nullptr;
    BootTime begin_until{};  ///< later it is not begun any more
  };
  struct Running {
    std::stop_source stop;
    bool overdue = false;
  };

  void run();
  /// Takes the next call that may still begin. What may not is put into `late`. With the mutex
  /// held.
  std::optional<Task> next_task(std::vector<Task>& late);
  void run_one(Task task, const std::stop_source& stop);
  /// With the mutex held.
  void add_threads();
  void join_left();

  FunctionOptions options_;
  const std::shared_ptr<FunctionsLink> link_ = std::make_shared<FunctionsLink>();
  std::map<std::string, SagaFunction, std::less<>> functions_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable work_;
  FairCalls<Task> waiting_;
  std::unordered_map<CallTicket, Running> running_;
  std::vector<std::thread> threads_;
  std::vector<std::thread::id> left_;  ///< of these, have returned from run() or are about to
  std::uint32_t idle_ = 0;
  std::uint32_t alive_ = 0;
  std::uint32_t overdue_ = 0;
  bool ending_ = false;
};

}  // namespace sagabox::saga
