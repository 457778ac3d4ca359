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

/// To the nanosecond; /proc/PID/stat counts ticks.
double time_on_processor(const std::filesystem::path& process) {
  double nanoseconds = 0;
  std::ifstream(process / "schedstat") >> nanoseconds;
  return nanoseconds / 1e9;
}

/// Nothing of a process that has gone.
ProcessTime process_time(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 2));
  ProcessTime time;
  std::string skipped;
  fields >> skipped >> time.parent;
  constexpr int between = 11;  // and the process's own time, in ticks
  for (int field = 0; field < between; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  time.own = time_on_processor(process);
  time.ended_children = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return time;
}

/// The eighth figure of the first line; 0 where there is no host.
double stolen_seconds() {
  std::ifstream file("/proc/stat");
  std::string skipped;
  constexpr int before = 8;  // "cpu" and seven figures
  for (int field = 0; field < before; ++field) file >> skipped;
  double ticks = 0;
  file >> ticks;
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

CpuTime cpu_time(const std::filesystem::path& folder) {
  long server = 0;
  std::ifstream(folder / "data/postmaster.pid") >> server;
  const auto first = process_time("/proc/" + std::to_string(server));
  CpuTime time{cpu_seconds(), first.own + first.ended_children, stolen_seconds()};
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
