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
  const auto wanted = figure.goal->value;
  switch (figure.goal->kind) {
    case Goal::Kind::at_least:
      return fmt::format("at least {}: {}", readable(wanted),
                         figure.value >= wanted ? "met" : "MISSED");
    case Goal::Kind::below:
      return fmt::format("below {}: {}", readable(wanted),
                         figure.value < wanted ? "met" : "MISSED");
    case Goal::Kind::ratio_at_most:
      return fmt::format("ratio at most {:.2f}: {}", wanted,
                         figure.ratio() <= wanted ? "met" : "MISSED");
    case Goal::Kind::ratio_at_least:
      break;
  }
  return fmt::format("ratio {:.2f}: {}", wanted, figure.ratio() >= wanted ? "met" : "MISSED");
}

boost::json::object machine_json() {
  const auto machine = this_machine();
  return {{"cpu", machine.cpu}, {"cores", machine.cores}, {"arch", machine.arch}};
}

void print_json(const Figure& figure) {
  boost::json::object line{
      {"name", figure.name},
      {"value", figure.value},
      {"unit", figure.unit},
      {"baseline", figure.baseline},
      {"baseline_name", figure.baseline_name},
      {"ratio", figure.ratio()},
      {"machine", machine_json()},
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
  fmt::print(
      "core: the best of {0} runs; others: the round of {0} with the median ratio, ours and "
      "baseline in turn\n\n",
      repeats);
  fmt::print("{:<30}{:>14} {:<15}{:>14} {:>7}  {:<44}{}\n", "name", "value", "unit", "baseline",
             "ratio", "against", "goal");
}

void Report::add(const Figure& figure) {
  if (form_ == Form::json) {
    print_json(figure);
  } else {
    fmt::print("{:<30}{:>14} {:<15}{:>14} {:>7.2f}  {:<44}{}\n", figure.name,
               readable(figure.value), figure.unit, readable(figure.baseline), figure.ratio(),
               figure.baseline_name, judged(figure));
  }
  std::fflush(stdout);
}

void Report::skip(const std::string& name, const std::string& why) {
  if (form_ == Form::json) {
    fmt::print("{}\n", boost::json::serialize(boost::json::object{{"name", name},
                                                                  {"skipped", why},
                                                                  {"machine", machine_json()},
                                                                  {"commit", SAGABOX_COMMIT}}));
  } else {
    fmt::print("{:<30}skipped: {}\n", name, why);
  }
  std::fflush(stdout);
}

void Report::note(const std::string& line) {
  fmt::print(form_ == Form::json ? stderr : stdout, "{}\n", line);
  std::fflush(form_ == Form::json ? stderr : stdout);
}

}  // namespace sagabox::bench
