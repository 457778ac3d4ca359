#include "crash/seeds.hpp"

#include <cstdlib>

namespace sagabox::crash {

std::vector<std::uint64_t> wanted_seeds(std::uint64_t last) {
  std::uint64_t first = 1;
  if (const char* text = std::getenv("SAGABOX_SEEDS"); text != nullptr) {
    char* end = nullptr;
    first = std::strtoull(text, &end, 10);
    last = *end == '-' ? std::strtoull(end + 1, nullptr, 10) : first;
  }
  std::vector<std::uint64_t> seeds;
  for (auto seed = first; seed <= last; ++seed) seeds.push_back(seed);
  return seeds;
}

}  // namespace sagabox::crash
