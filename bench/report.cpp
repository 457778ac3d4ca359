#include "bench/report.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdio>
#include <fstream>
#include <thread>

namespace sagabox::bench {
namespace {

struct Machine {
  std::string cpu;
  unsigned cores = 0;
  std::string arch;
};

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(':');
    // Arm says neither; its implementer and part are numbers that tell nobody anything.
    if (!line.starts_with("model name") || colon + 2 >= line.size()) continue;
    return line.substr(colon + 2);
  }
  return "unknown";
}

Machine this_machine() {
  utsname names{};
  const bool known = uname(&names) == 0;
  return {cpu_model(), std::thread::hardware_concurrency(), known ? names.machine : "unknown"};
}

/// Large numbers need no decimals.
std::string readable(double value) {
  if (value < 1000) return fmt::format("{:.2f}", value);
  auto digits = fmt::format("{:.0f}", value);
  for (std::size_t from_end = 3; from_end < digits.size(); from_end += 4) {
    digits.insert(digits.size() - from_end, 1, ' ');
  }
  return digits;
}

std::string judged(const Figure& figure) {
  if (!figure.goal) return "";
  const bool at_least = figure.goal->kind == Goal::Kind::at_least;
  const bool met =
      at_least ? figure.value >= figure.goal->value : figure.value < figure.goal->value;
  return fmt::format("{} {}: {}", at_least ? "at least" : "below", readable(figure.goal->value),
                     met ? "met" : "MISSED");
}

void print_json(const Figure& figure) {
  const auto machine = this_machine();
  boost::json::object line{
      {"name", figure.name},
      {"value", figure.value},
      {"unit", figure.unit},
      {"baseline", figure.baseline},
      {"baseline_name", figure.baseline_name},
      {"ratio", figure.ratio()},
      {"machine", {{"cpu", machine.cpu}, {"cores", machine.cores}, {"arch", machine.arch}}},
      {"commit", SAGABOX_COMMIT},
  };
  if (figure.goal) line["goal"] = figure.goal->value;
  fmt::print("{}\n", boost::json::serialize(line));
}

}  // namespace

Report::Report(Form form, std::uint32_t repeats) : form_(form) {
  if (form_ == Form::json) return;
  const auto machine = this_machine();
  fmt::print("{} · {} cores · {} · commit {}\n", machine.cpu, machine.cores, machine.arch,
             SAGABOX_COMMIT);
  fmt::print("every value and every baseline is the best of {} runs\n\n", repeats);
  fmt::print("{:<18}{:>14} {:<15}{:>14} {:>7}  {:<36}{}\n", "name", "value", "unit", "baseline",
             "ratio", "against", "goal");
}

void Report::add(const Figure& figure) {
  if (form_ == Form::json) {
    print_json(figure);
  } else {
    fmt::print("{:<18}{:>14} {:<15}{:>14} {:>7.2f}  {:<36}{}\n", figure.name,
               readable(figure.value), figure.unit, readable(figure.baseline), figure.ratio(),
               figure.baseline_name, judged(figure));
  }
  std::fflush(stdout);
}

}  // namespace sagabox::bench
