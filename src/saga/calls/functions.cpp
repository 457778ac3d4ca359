#include "saga/calls/functions.hpp"

#include "saga/calls/reply_token.hpp"
#include "saga/json_text.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <utility>

namespace sagabox {

struct SagaCompletion::State {
  State(saga::CallTicket of, saga::CallResults& tell, std::shared_ptr<saga::FunctionsLink> by)
      : ticket(of), results(tell), link(std::move(by)) {}
  ~State() {
    end({.kind = saga::CallResult::Kind::in_doubt,
         .error = "the function promised a result and gave none"});
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void end(saga::CallResult result) {
    if (over.exchange(true)) return;
    link->forget(ticket);
    const std::shared_lock lock(link->mutex);
    if (link->alive) results.ended(ticket, std::move(result));
  }

  const saga::CallTicket ticket;
  saga::CallResults& results;
  const std::shared_ptr<saga::FunctionsLink> link;
  std::atomic<bool> over{false};
};

struct SagaCall::Facts {
  const saga::CallOrder& order;
  std::stop_token stop;
  const std::string& secret;
  WallTime reply_until{};
  saga::CallResults& results;
  const std::shared_ptr<saga::FunctionsLink>& link;
  mutable std::shared_ptr<SagaCompletion::State> completion{};
};

const SagaId& SagaCall::saga() const noexcept { return facts_.order.saga; }
const std::string& SagaCall::definition() const noexcept { return facts_.order.definition; }
const std::string& SagaCall::tenant() const noexcept { return facts_.order.tenant; }
const std::string& SagaCall::step() const noexcept { return facts_.order.step; }
BarrierDirection SagaCall::direction() const noexcept { return facts_.order.call.key.direction; }
const std::string& SagaCall::input() const noexcept { return facts_.order.call.input; }
std::uint32_t SagaCall::attempt() const noexcept { return facts_.order.call.attempt; }
const std::string& SagaCall::idempotency_key() const noexcept {
  return facts_.order.call.idempotency_key;
}
Epoch SagaCall::epoch() const noexcept { return facts_.order.epoch; }
BootTime SagaCall::deadline() const noexcept { return facts_.order.deadline; }
const std::stop_token& SagaCall::stop_token() const noexcept { return facts_.stop; }
const std::string& SagaCall::traceparent() const noexcept { return facts_.order.traceparent; }

BarrierCall SagaCall::barrier() const {
  const auto& call = facts_.order.call;
  return {.tenant = tenant(),
          .saga = saga().str(),
          .step = step(),
          .round = call.barrier_round,
          .direction = call.key.direction,
          .deadline = call.deadline,
          .retention = facts_.order.remember_until - call.deadline};
}

SagaCompletion SagaCall::completion() const {
  if (!facts_.completion) {
    facts_.completion =
        std::make_shared<SagaCompletion::State>(facts_.order.ticket, facts_.results, facts_.link);
  }
  return SagaCompletion(facts_.completion);
}

std::string SagaCall::reply_token() const {
  if (facts_.secret.empty()) return {};
  return saga::reply_token({.saga = saga(),
                            .definition = definition(),
                            .tenant = tenant(),
                            .step = step(),
                            .direction = direction(),
                            .round = facts_.order.call.round,
                            .expires_at = facts_.reply_until},
                           facts_.secret);
}

namespace saga {

void FunctionsLink::keep(CallTicket ticket,
                         const std::shared_ptr<SagaCompletion::State>& completion) {
  const std::scoped_lock lock(open_mutex);
  // Whoever completes it later finds it here.
  if (!completion->over.load()) open.insert_or_assign(ticket, completion);
}

void FunctionsLink::forget(CallTicket ticket) {
  const std::scoped_lock lock(open_mutex);
  open.erase(ticket);
}

void FunctionsLink::give_up(CallTicket ticket) {
  std::shared_ptr<SagaCompletion::State> completion;
  {
    const std::scoped_lock lock(open_mutex);
    const auto at = open.find(ticket);
    if (at != open.end()) completion = at->second.lock();
  }
  if (completion) {
    completion->end({.kind = CallResult::Kind::in_doubt, .error = "not completed in time"});
  }
}

namespace {

constexpr std::string_view not_begun = "not begun in time: all threads for functions were busy";

CallResult unreachable_result(std::string_view why) {
  return {.kind = CallResult::Kind::unreachable, .error = std::string(why)};
}

CallResult result_of(SagaAnswer answer) {
  CallResult result{.output = std::move(answer.output),
                    .error = std::move(answer.error),
                    .retry_after = answer.retry_after};
  switch (answer.kind) {
    case SagaAnswer::Kind::ok:
      result.kind = CallResult::Kind::ok;
      if (result.output.empty()) break;
      if (auto problem = stored_json_problem(result.output); !problem.empty()) {
        // The work was done: only what it says of itself is lost.
        result.error = "its output is not JSON that can be kept: " + problem;
        result.output.clear();
      }
      break;
    case SagaAnswer::Kind::retry:
      result.kind = CallResult::Kind::retry;
      break;
    case SagaAnswer::Kind::fail:
      result.kind = CallResult::Kind::fail;
      break;
    case SagaAnswer::Kind::wait:
      result.kind = CallResult::Kind::wait;
      break;
    case SagaAnswer::Kind::later:
      result.kind = CallResult::Kind::in_doubt;
      result.error = "saga_later() without a completion; take SagaCall::completion() first";
      break;
  }
  return result;
}

}  // namespace

Functions::~Functions() {
  (void)begin_stop();
  for (auto& thread : threads_) thread.join();
  const std::unique_lock lock(link_->mutex);
  link_->alive = false;
}

Status Functions::add(std::string name, SagaFunction function) {
  if (functions_.emplace(name, std::move(function)).second) return {};
  return Error{Code::tx_invalid_state, "there is a function \"" + name + "\" already"};
}

void Functions::join_left() {
  // These need the mutex no more.
  for (const auto id : left_) {
    const auto at = std::ranges::find(threads_, id, &std::thread::get_id);
    at->join();
    threads_.erase(at);
  }
  left_.clear();
}

void Functions::add_threads() {
  if (ending_) return;
  join_left();
  const auto wanted = options_.workers + std::min(overdue_, options_.spare_workers_max);
  auto need = waiting_.size();
  while (alive_ < wanted && need > idle_) {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error& refused) {
      // What waits is begun by the threads there are, or given back at its deadline.
      options_.log->log(
          LogLevel::error, "no thread can be started for functions of sagas",
          {{"threads", std::uint64_t{alive_}}, {"error", std::string_view(refused.what())}});
      return;
    }
    ++alive_;
    --need;
  }
}

void Functions::call(std::vector<CallOrder> orders, CallResults& results) {
  std::vector<CallTicket> refused;
  const auto now = options_.clock->boot_now();
  {
    const std::scoped_lock lock(mutex_);
    for (auto& order : orders) {
      const auto ticket = order.ticket;
      if (ending_) {
        refused.push_back(ticket);
        continue;
      }
      const auto begin_until = now + (order.deadline - now) / 2;
      const auto definition = order.definition;
      waiting_.add(definition, ticket, {std::move(order), &results, begin_until});
    }
    add_threads();
  }
  work_.notify_all();
  for (const auto ticket : refused) {
    results.ended(ticket, unreachable_result("the process stops"));
  }
}

void Functions::abandon(CallTicket ticket) {
  std::optional<Task> waited;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto at = running_.find(ticket); at != running_.end()) {
      at->second.stop.request_stop();
      if (!std::exchange(at->second.overdue, true)) ++overdue_;
      add_threads();
      return;
    }
    waited = waiting_.take(ticket);
  }
  if (waited) return waited->results->ended(ticket, unreachable_result(not_begun));
  link_->give_up(ticket);
}

bool Functions::withdraw(CallTicket ticket) {
  const std::scoped_lock lock(mutex_);
  return waiting_.take(ticket).has_value();
}

std::optional<Functions::Task> Functions::next_task(std::vector<Task>& late) {
  const auto now = options_.clock->boot_now();
  while (auto task = waiting_.take()) {
    if (now <= task->begin_until) return task;
    late.push_back(*std::move(task));
  }
  return std::nullopt;
}

void Functions::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    work_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) break;
    const auto wanted = options_.workers + std::min(overdue_, options_.spare_workers_max);
    if (alive_ > wanted) break;
    std::vector<Task> late;
    auto task = next_task(late);
    std::stop_source stop(std::nostopstate);
    if (task) stop = running_[task->order.ticket].stop;
    lock.unlock();
    for (const auto& one : late) {
      one.results->ended(one.order.ticket, unreachable_result(not_begun));
    }
    const auto ticket = task ? task->order.ticket : CallTicket{};
    if (task) run_one(*std::move(task), stop);
    lock.lock();
    const auto at = running_.find(ticket);
    if (at == running_.end()) continue;
    const bool abandoned = at->second.overdue;
    if (abandoned) --overdue_;
    running_.erase(at);
    if (!abandoned) continue;
    lock.unlock();
    // Whoever abandoned it did not find its completion yet.
    link_->give_up(ticket);
    lock.lock();
  }
  --alive_;
  left_.push_back(std::this_thread::get_id());
}

void Functions::run_one(Task task, const std::stop_source& stop) {
  auto& results = *task.results;
  const auto ticket = task.order.ticket;
  const SagaCall::Facts facts{.order = task.order,
                              .stop = stop.get_token(),
                              .secret = options_.reply_secret,
                              .reply_until = options_.clock->wall_now() + options_.reply_ttl,
                              .results = results,
                              .link = link_};
  const auto function = functions_.find(task.order.call.target.name);
  CallResult result;
  if (function == functions_.end()) {
    result = {.kind = CallResult::Kind::unreachable,
              .error = "this process has no function " + task.order.call.target.name,
              .code = Code::tx_invalid_handler};
  } else {
    try {
      auto answer = function->second(SagaCall(facts));
      if (answer.kind == SagaAnswer::Kind::later && facts.completion) {
        return link_->keep(ticket, facts.completion);
      }
      result = result_of(std::move(answer));
    } catch (const std::exception& thrown) {
      result = {.kind = CallResult::Kind::in_doubt,
                .error = std::string("the function threw: ") + thrown.what()};
    } catch (...) {
      result = {.kind = CallResult::Kind::in_doubt, .error = "the function threw"};
    }
  }
  // A completion that was taken and is not wanted says nothing more.
  if (facts.completion && facts.completion->over.exchange(true)) return;
  results.ended(ticket, std::move(result));
}

std::size_t Functions::begin_stop() {
  std::vector<Task> waiting;
  std::size_t running = 0;
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    while (auto task = waiting_.take()) waiting.push_back(*std::move(task));
    for (auto& [ticket, call] : running_) call.stop.request_stop();
    running = running_.size();
  }
  work_.notify_all();
  for (const auto& task : waiting) {
    task.results->ended(task.order.ticket, unreachable_result("the process stops"));
  }
  return running;
}

std::size_t Functions::running() const {
  const std::scoped_lock lock(mutex_);
  return running_.size();
}

std::size_t Functions::open_completions() const {
  const std::scoped_lock lock(link_->open_mutex);
  return link_->open.size();
}

}  // namespace saga

void SagaCompletion::complete(SagaAnswer answer) const {
  state_->end(saga::result_of(std::move(answer)));
}

}  // namespace sagabox
