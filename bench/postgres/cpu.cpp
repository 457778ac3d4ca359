#include "bench/postgres/cpu.hpp"

#include "bench/measure.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace sagabox::bench::postgres {
namespace {

struct ProcessTime {
  long parent = 0;
  double own = 0;
  double ended_children = 0;
};

/// Of /proc/PID/stat; nothing of a process that has gone.
ProcessTime process_time(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 2));
  ProcessTime time;
  std::string skipped;
  double value[4] = {};
  fields >> skipped >> time.parent;
  for (int field = 0; field < 9; ++field) fields >> skipped;
  for (auto& ticks : value) fields >> ticks;
  const auto second = static_cast<double>(sysconf(_SC_CLK_TCK));
  time.own = (value[0] + value[1]) / second;
  time.ended_children = (value[2] + value[3]) / second;
  return time;
}

}  // namespace

CpuTime cpu_time(const std::filesystem::path& folder) {
  long server = 0;
  std::ifstream(folder / "data/postmaster.pid") >> server;
  const auto first = process_time("/proc/" + std::to_string(server));
  CpuTime time{cpu_seconds(), first.own + first.ended_children};
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    const auto process = process_time(entry.path());
    if (process.parent == server) time.server += process.own;
  }
  return time;
}

std::string cpu_text(const CpuTime& used, double messages) {
  return fmt::format("client {:.1f} µs, server {:.1f} µs a message", used.ours / messages * 1e6,
                     used.server / messages * 1e6);
}

}  // namespace sagabox::bench::postgres
