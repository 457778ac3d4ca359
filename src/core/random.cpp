#include "core/immortal.hpp"

#include <sagabox/random.hpp>

#include <pthread.h>
#include <sys/random.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <system_error>

namespace sagabox {
namespace {

constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15;

/// The output function of splitmix64.
std::uint64_t mix(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// xoshiro256++.
class Xoshiro {
 public:
  using State = std::array<std::uint64_t, 4>;
  void seed(const State& state) noexcept { s_ = state; }
  std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(s_[0] + s_[3], 23) + s_[0];
    const std::uint64_t shifted = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= shifted;
    s_[3] = std::rotl(s_[3], 45);
    return result;
  }

 private:
  State s_{};
};

Xoshiro::State operating_system_seed() {
  Xoshiro::State state{};
  if (getrandom(state.data(), sizeof state, 0) != static_cast<ssize_t>(sizeof state)) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return state;
}

/// Counts forks, so that a child process does not generate the same numbers as its parent.
std::atomic<std::uint64_t> process_generation{1};

class SystemRandom final : public Random {
 public:
  SystemRandom() {
    pthread_atfork(nullptr, nullptr, [] { process_generation.fetch_add(1); });
  }
  std::uint64_t next() override {
    thread_local Xoshiro engine;
    thread_local std::uint64_t seeded_in = 0;
    if (const auto now = process_generation.load(std::memory_order_relaxed); seeded_in != now) {
      engine.seed(operating_system_seed());
      seeded_in = now;
    }
    return engine.next();
  }
};

/// splitmix64: its state is a counter, so one atomic addition makes it thread-safe. The seed is
/// mixed first, so that neighbouring seeds do not share their numbers.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(mix(seed)) {}
  std::uint64_t next() override {
    return mix(state_.fetch_add(golden_gamma, std::memory_order_relaxed) + golden_gamma);
  }

 private:
  std::atomic<std::uint64_t> state_;
};

}  // namespace

Random& system_random() { return immortal<SystemRandom>(); }

std::unique_ptr<Random> seeded_random(std::uint64_t seed) {
  return std::make_unique<SeededRandom>(seed);
}

}  // namespace sagabox
