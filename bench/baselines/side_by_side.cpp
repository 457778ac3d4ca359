#include "bench/baselines/side_by_side.hpp"

#include "bench/measure.hpp"

#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace sagabox::bench::by_hand {

double seconds_side_by_side(int count, const std::function<void(int)>& work) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
  const auto begin = Steady::now();
  std::vector<std::thread> threads;
  for (int number = 0; number < count; ++number) {
    threads.emplace_back([&, number] {
      try {
        work(number);
      } catch (...) {
        failures[static_cast<std::size_t>(number)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto took = seconds_since(begin);
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return took;
}

}  // namespace sagabox::bench::by_hand
