#include "runtime/periodic_threads.hpp"

#include <algorithm>

namespace sagabox::runtime {
namespace {

constexpr Duration periodic_wait_min = std::chrono::milliseconds(1);

}  // namespace

void PeriodicThreads::add(PeriodicWork& work) {
  const std::scoped_lock lock(mutex_);
  tasks_.push_back({.work = &work});
  if (threads_.empty()) start_thread();
  due_.notify_one();
}

void PeriodicThreads::remove(PeriodicWork& work) {
  std::unique_lock lock(mutex_);
  const auto task = std::ranges::find(tasks_, &work, &Task::work);
  if (task == tasks_.end()) return;
  task->leaving = true;
  ended_.wait(lock, [&] { return !task->running; });
  tasks_.erase(task);
}

void PeriodicThreads::relieve(BootTime now) {
  const std::scoped_lock lock(mutex_);
  const Task* const next = earliest();
  if (ending_ || next == nullptr || now - look_interval < next->due) return;
  const auto at_work = static_cast<std::size_t>(std::ranges::count(tasks_, true, &Task::running));
  if (at_work < threads_.size()) {
    late_.notify_one();
  } else if (threads_.size() < threads_max) {
    start_thread();
  }
}

void PeriodicThreads::end() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  due_.notify_all();
  late_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

std::size_t PeriodicThreads::threads() const {
  const std::scoped_lock lock(mutex_);
  return threads_.size();
}

void PeriodicThreads::start_thread() {
  threads_.emplace_back([this] { run(); });
}

PeriodicThreads::Task* PeriodicThreads::earliest() {
  Task* first = nullptr;
  for (auto& task : tasks_) {
    if (task.running || task.leaving) continue;
    if (first == nullptr || task.due < first->due) first = &task;
  }
  return first;
}

void PeriodicThreads::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    Task* const next = earliest();
    const auto now = clock_.boot_now();
    if (next != nullptr && next->due <= now) {
      step(*next, lock);
    } else if (watched_) {
      late_.wait(lock);
    } else {
      watched_ = true;
      const auto wait = next == nullptr ? look_interval : next->due - now;
      due_.wait_for(lock, std::clamp<Duration>(wait, periodic_wait_min, look_interval));
      watched_ = false;
    }
  }
}

void PeriodicThreads::step(Task& task, std::unique_lock<std::mutex>& lock) {
  task.running = true;
  lock.unlock();
  const bool more = task.work->step();
  const auto now = clock_.boot_now();
  const auto next = more ? now : task.work->next(now);
  lock.lock();
  task.running = false;
  task.due = std::min(next, now + look_interval);
  ended_.notify_all();
}

}  // namespace sagabox::runtime
