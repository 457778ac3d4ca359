#include "bench/memory.hpp"

#include <malloc.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace sagabox::bench {

double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    double kib = 0;
    status >> kib;
    return kib / 1024;
  }
  throw std::runtime_error("/proc/self/status does not tell the peak of memory");
}

void forget_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace sagabox::bench
