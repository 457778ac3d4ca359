#include "simulation/trace.hpp"

#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace sagabox::simulation {
namespace {

constexpr std::size_t moments_default = 150;

/// How each moment reads: `#a` and `#b` are its two numbers.
constexpr std::array<std::string_view, 37> texts{
    "started in slot #a",
    "crashed",
    "killed by m#a",
    "retired",
    "paused for #a us",
    "clock jumped",
    "database down for #a us",
    "checkpoint",
    "failed over to timeline #a",
    "topic #a closed",
    "topic #a opened",
    "m#a corrupted",
    "faults are over",
    "transaction begun by producer #a",
    "wrote m#a, sequence #b",
    "committed m#a, sequence #b",
    "commit in doubt, fault #a",
    "rolled back by producer #a",
    "read, #a rows, fault #b",
    "read due, #a rows, fault #b",
    "read retrying keys of shard #a, fault #b",
    "read looked at",
    "read failed",
    "settle, #a items, fault #b",
    "settle looked at",
    "settle failed",
    "ownership call #a, fault #b",
    "acquired shard #a, epoch #b",
    "lost shard #a",
    "drains shard #a",
    "handler of m#a began, attempt #b",
    "handler of m#a ended, outcome #b",
    "operator move #a of m#b",
    "operator turned the pause of topic #a: #b",
    "operator purged state #a, #b rows",
    "operator asked for a replay of state #a",
    "replay job #a advanced, #b rows",
};

std::size_t moments_max() {
  static const std::size_t count = [] {
    const char* wanted = std::getenv("SAGABOX_TRACE");
    return wanted == nullptr ? moments_default : std::strtoul(wanted, nullptr, 10);
  }();
  return count == 0 ? 1 : count;
}

}  // namespace

void Trace::add(const Moment& moment) {
  for (const auto number :
       {static_cast<std::uint64_t>(moment.at.time_since_epoch().count()),
        static_cast<std::uint64_t>(moment.what), moment.process, moment.a, moment.b}) {
    hash_ = (hash_ ^ number) * 0x100000001b3ULL;
  }
  if (moments_.size() < moments_max()) {
    moments_.push_back(moment);
    return;
  }
  moments_[next_] = moment;
  next_ = (next_ + 1) % moments_.size();
}

std::string Trace::tail() const {
  std::ostringstream out;
  for (std::size_t step = 0; step < moments_.size(); ++step) {
    const auto& moment = moments_[(next_ + step) % moments_.size()];
    out << moment.at.time_since_epoch().count() / 1000 << " us";
    if (moment.process != 0) out << " p" << moment.process;
    out << ' ';
    const auto text = texts[static_cast<std::size_t>(moment.what)];
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '#') {
        out << text[at];
        continue;
      }
      ++at;
      out << (text[at] == 'a' ? moment.a : moment.b);
    }
    out << '\n';
  }
  return out.str();
}

}  // namespace sagabox::simulation
