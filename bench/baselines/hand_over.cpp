#include "bench/baselines/hand_over.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace sagabox::bench {

Latency hand_over(std::uint32_t count, std::chrono::microseconds pause) {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t handed = 0;
  std::uint32_t taken = 0;
  std::vector<double> microseconds;
  microseconds.reserve(count);
  Steady::time_point begin;

  std::thread receiver([&] {
    std::unique_lock lock(mutex);
    while (taken < count) {
      changed.wait(lock, [&] { return handed > taken; });
      microseconds.push_back(
          std::chrono::duration<double, std::micro>(Steady::now() - begin).count());
      ++taken;
      changed.notify_all();
    }
  });
  for (std::uint32_t number = 1; number <= count; ++number) {
    std::this_thread::sleep_for(pause);
    {
      const std::scoped_lock lock(mutex);
      begin = Steady::now();
      handed = number;
    }
    changed.notify_all();
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return taken == number; });
  }
  receiver.join();
  return latency_of(std::move(microseconds));
}

}  // namespace sagabox::bench
