#include "server/http/workers.hpp"

#include "server/api/problem.hpp"

#include <utility>

namespace sagabox::server {

Workers::Workers(RequestHandler& handler, const Options& options)
    : handler_(handler), options_(options) {
  for (std::uint32_t at = 0; at < options_.threads; ++at) {
    threads_.emplace_back([this] { run(); });
  }
}

Workers::~Workers() {
  stop();
  for (auto& thread : threads_) thread.join();
}

void Workers::take(Task task) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    if (running_ + waiting_.size() < options_.threads + options_.waiting_max) {
      waiting_.push_back(std::move(task));
      changed_.notify_one();
      return;
    }
  }
  task.reply(problem(503, {Code::server_busy, "too many requests wait; try again after a second"}));
}

void Workers::stop() {
  std::deque<Task> dropped;  // destroyed after the lock is released
  const std::scoped_lock lock(mutex_);
  stopping_ = true;
  dropped.swap(waiting_);
  changed_.notify_all();
}

bool Workers::idle() const {
  const std::scoped_lock lock(mutex_);
  return running_ == 0;
}

void Workers::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    auto task = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    lock.unlock();
    handler_.begin(task.request, task.reply);
    lock.lock();
    --running_;
    // The task may hold the last reference to its connection, whose end others wait for.
    lock.unlock();
    task = {};
    lock.lock();
  }
}

}  // namespace sagabox::server
