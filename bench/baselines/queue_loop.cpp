#include "bench/baselines/queue_loop.hpp"

#include "bench/measure.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox::bench {
namespace {

constexpr std::size_t queue_capacity = 1000;
constexpr std::size_t batch_max = 1000;
constexpr int workers = 4;

struct Item {
  std::shared_ptr<const Message> message;
  std::size_t place = 0;
};

template <class T>
class LockedQueue {
 public:
  void push(T value) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return items_.size() < queue_capacity; });
    items_.push_back(std::move(value));
    lock.unlock();
    work_.notify_one();
  }

  /// False: closed, and nothing is left.
  bool pop(T& value) {
    std::unique_lock lock(mutex_);
    work_.wait(lock, [&] { return !items_.empty() || closed_; });
    if (items_.empty()) return false;
    value = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    room_.notify_one();
    return true;
  }

  bool pop_batch(std::vector<T>& values) {
    std::unique_lock lock(mutex_);
    work_.wait(lock, [&] { return !items_.empty() || closed_; });
    while (!items_.empty() && values.size() < batch_max) {
      values.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    lock.unlock();
    room_.notify_all();
    return !values.empty();
  }

  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    work_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable room_;
  std::deque<T> items_;
  bool closed_ = false;
};

/// A ring with a turn a cell; whoever finds it full or empty lets others run.
template <class T>
class SpinningRing {
 public:
  SpinningRing() : cells_(size) {
    for (std::size_t at = 0; at < size; ++at) cells_[at].turn.store(at);
  }

  void push(T value) {
    const auto at = tail_.fetch_add(1);
    auto& cell = cells_[at % size];
    while (cell.turn.load(std::memory_order_acquire) != at) std::this_thread::yield();
    cell.value = std::move(value);
    cell.turn.store(at + 1, std::memory_order_release);
  }

  bool pop(T& value) {
    for (;;) {
      if (try_pop(value)) return true;
      if (closed_.load() && head_.load() == tail_.load()) return false;
      std::this_thread::yield();
    }
  }

  bool pop_batch(std::vector<T>& values) {
    T first;
    if (!pop(first)) return false;
    values.push_back(std::move(first));
    while (values.size() < batch_max) {
      T next;
      if (!try_pop(next)) break;
      values.push_back(std::move(next));
    }
    return true;
  }

  void close() { closed_.store(true); }

 private:
  static constexpr std::size_t size = 1024;
  struct Cell {
    std::atomic<std::size_t> turn{0};
    T value{};
  };

  bool try_pop(T& value) {
    auto at = head_.load(std::memory_order_relaxed);
    for (;;) {
      auto& cell = cells_[at % size];
      if (cell.turn.load(std::memory_order_acquire) != at + 1) return false;
      if (!head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
      value = std::move(cell.value);
      cell.turn.store(at + size, std::memory_order_release);
      return true;
    }
  }

  std::vector<Cell> cells_;
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<bool> closed_{false};
};

template <template <class> class Queue>
double messages_per_second(Messages messages) {
  Queue<Item> work;
  Queue<std::size_t> done;
  const std::function<bool(const Message&)> handler = [](const Message&) { return true; };
  std::vector<std::uint8_t> settled(messages.size(), 0);

  const auto begin = Steady::now();
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&] {
      for (Item item; work.pop(item);) {
        if (handler(*item.message)) done.push(item.place);
      }
    });
  }
  std::thread collector([&] {
    std::vector<std::size_t> batch;
    for (; done.pop_batch(batch); batch.clear()) {
      for (const auto place : batch) settled[place] = 1;
    }
  });
  for (std::size_t place = 0; place < messages.size(); ++place) {
    work.push({messages[place], place});
  }
  work.close();
  for (auto& thread : threads) thread.join();
  done.close();
  collector.join();
  const auto took = seconds_since(begin);
  if (std::count(settled.begin(), settled.end(), 1) != std::ssize(settled)) {
    throw std::logic_error("the baseline's queue loop lost messages");
  }
  return static_cast<double>(messages.size()) / took;
}

}  // namespace

QueueLoop best_queue_loop(Messages messages, std::uint32_t repeats) {
  const auto locked =
      best_rate(repeats, [&] { return messages_per_second<LockedQueue>(messages); });
  const auto ring = best_rate(repeats, [&] { return messages_per_second<SpinningRing>(messages); });
  return ring > locked ? QueueLoop{"bare loop, ring without locks", ring}
                       : QueueLoop{"bare loop, deque and mutex", locked};
}

}  // namespace sagabox::bench
