#pragma once

#include <filesystem>
#include <string>

namespace sagabox::bench::postgres {

/// Processor time used so far. Wall times of a machine that others use say little; these say more.
struct CpuTime {
  double ours = 0;    ///< of this process, in seconds
  double server = 0;  ///< of the server and all its processes, ended ones included
  double stolen = 0;  ///< what the host of this machine gave to others meanwhile

  CpuTime& operator+=(const CpuTime& more) {
    ours += more.ours;
    server += more.server;
    stolen += more.stolen;
    return *this;
  }
  friend CpuTime operator-(const CpuTime& a, const CpuTime& b) {
    return {a.ours - b.ours, a.server - b.server, a.stolen - b.stolen};
  }
};

/// `folder`: of the server.
CpuTime cpu_time(const std::filesystem::path& folder);
/// "client 2.1 µs, server 7.3 µs a message"
std::string cpu_text(const CpuTime& used, double messages);

}  // namespace sagabox::bench::postgres
