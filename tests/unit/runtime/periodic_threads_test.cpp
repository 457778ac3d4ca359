#include "runtime/periodic_threads.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace sagabox::runtime {
namespace {

/// Counts its steps; each waits until it is let through.
class Gated final : public PeriodicWork {
 public:
  explicit Gated(bool open) : open_(open) {}

  bool step() override {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    ++done_;
    changed_.notify_all();
    return false;
  }
  [[nodiscard]] BootTime next(BootTime now) const override { return now; }

  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void await_begun(int times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_ >= times; });
  }
  void await_done(int times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= times; });
  }
  int done() {
    const std::scoped_lock lock(mutex_);
    return done_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_;
  int begun_ = 0;
  int done_ = 0;
};

TEST(PeriodicThreads, OneThreadDoesTheWorkOfAllAgainAndAgain) {
  std::deque<Gated> works;
  PeriodicThreads threads(system_clock());
  for (int number = 0; number < 64; ++number) threads.add(works.emplace_back(true));
  for (auto& work : works) work.await_done(3);
  EXPECT_EQ(threads.threads(), 1U);
}

TEST(PeriodicThreads, WorkThatHangsKeepsTheRestWaitingOnlyUntilAnotherThreadIsBroughtIn) {
  Gated hangs(false);
  Gated late(true);
  PeriodicThreads threads(system_clock());
  threads.add(hangs);
  hangs.await_begun(1);
  threads.add(late);
  threads.relieve(system_clock().boot_now());
  late.await_done(3);
  EXPECT_EQ(threads.threads(), 2U);
  hangs.open();
}

TEST(PeriodicThreads, NoMoreThreadsAreBroughtInThanAreAllowed) {
  std::deque<Gated> works;
  PeriodicThreads threads(system_clock());
  for (std::size_t number = 0; number < 2 * PeriodicThreads::threads_max; ++number) {
    threads.add(works.emplace_back(false));
  }
  for (std::size_t number = 0; number < PeriodicThreads::threads_max; ++number) {
    works[number].await_begun(1);
    threads.relieve(system_clock().boot_now());
  }
  EXPECT_EQ(threads.threads(), PeriodicThreads::threads_max);
  for (auto& work : works) work.open();
  for (auto& work : works) work.await_done(1);
}

TEST(PeriodicThreads, RemovedWorkIsNotCalledAnyMore) {
  Gated other(true);
  Gated gone(false);
  PeriodicThreads threads(system_clock());
  threads.add(gone);
  gone.await_begun(1);
  threads.add(other);
  std::thread opener([&] { gone.open(); });
  threads.remove(gone);
  const int done = gone.done();
  EXPECT_GE(done, 1) << "its step has been waited for";
  other.await_done(3);
  EXPECT_EQ(gone.done(), done);
  opener.join();
}

}  // namespace
}  // namespace sagabox::runtime
