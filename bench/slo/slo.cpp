#include "bench/postgres/world.hpp"
#include "bench/slo/bench.hpp"
#include "bench/slo/daemon.hpp"
#include "bench/slo/receiver.hpp"
#include "bench/slo/writers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>

namespace sagabox::bench::slo {
namespace {

using postgres::world;

constexpr std::uint32_t seconds_default = 60;
constexpr auto patience = std::chrono::seconds(120);

void await(const std::string& what, const std::function<bool()>& is_so) {
  const auto limit = Steady::now() + patience;
  while (!is_so()) {
    if (Steady::now() > limit) throw std::runtime_error("waited in vain: " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::int64_t rows(const std::string& table) {
  return std::stoll(world().sql("SELECT count(*) FROM sagabox.default_" + table));
}

/// Both have a share: the second takes its own a while after its start.
bool both_own_shards(Daemon& first, Daemon& second) {
  return first.metric("ownership_shards") > 0 && second.metric("ownership_shards") > 0;
}

struct Seen {
  std::vector<double> seconds;  ///< from COMMIT to the receiver, of those that came
  std::uint64_t messages = 0;
  std::uint64_t refused = 0;
  std::uint64_t retried_well = 0;
  std::int64_t dead = 0;
  double unknown_errors = 0;
};

Seen look_at(const std::vector<Receiver::Seen>& received,
             const std::vector<Steady::time_point>& committed) {
  Seen seen{.messages = committed.size()};
  for (std::size_t number = 0; number < committed.size(); ++number) {
    const auto& one = received[number];
    const bool came = one.taken != Steady::time_point{};
    if (one.refused) ++seen.refused;
    if (one.refused && came) ++seen.retried_well;
    if (!came) continue;
    // Who delivers may be faster than the writer learns of its COMMIT.
    const auto took = std::max(one.taken - committed[number], Steady::duration::zero());
    seen.seconds.push_back(std::chrono::duration<double>(took).count());
  }
  std::sort(seen.seconds.begin(), seen.seconds.end());
  return seen;
}

Seen run(std::uint64_t messages, std::uint32_t rate) {
  world().clear();
  Receiver receiver(messages);
  const auto store_url =
      fmt::format("postgres://postgres@127.0.0.1:{}/postgres", world().sql("SHOW port"));
  Daemon first({.name = "first", .store_url = store_url, .receiver_port = receiver.port()});
  Daemon second({.name = "second", .store_url = store_url, .receiver_port = receiver.port()});
  await("a share for both daemons", [&] { return both_own_shards(first, second); });
  // A NOTIFY has to be asked for on the test server, see bench/postgres/latency.cpp.
  const auto committed = write_at_pace({.url = world().url() + " options='-c sagabox.notify=on'",
                                        .messages = messages,
                                        .rate = rate});
  await("everything is delivered or dead", [] { return rows("outbox") == 0; });
  auto seen = look_at(receiver.all(), committed);
  seen.dead = rows("dead");
  for (const auto* daemon : {&first, &second}) {
    seen.unknown_errors += daemon->metric("errors_total", "UNKNOWN");
  }
  first.end();
  second.end();
  return seen;
}

double at_percent(const std::vector<double>& sorted, std::size_t percent) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)];
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

}  // namespace

void ordinary_load(const Size& size, Report& report) {
  const auto seconds = size.seconds.value_or(seconds_default);
  const auto seen = run(std::uint64_t{seconds} * size.rate, size.rate);
  const auto load = fmt::format("none: {} messages/s for {} s, two daemons", size.rate, seconds);
  const auto add = [&](const std::string& name, double value, const std::string& unit,
                       std::optional<Goal> goal = {}) {
    report.add(
        {.name = "slo." + name, .value = value, .unit = unit, .baseline_name = load, .goal = goal});
  };
  const auto whole = static_cast<double>(seen.messages);
  add("messages", whole, "messages");
  add("refused_once", static_cast<double>(seen.refused), "messages");
  add("first_delivery.p50_s", at_percent(seen.seconds, 50), "s");
  add("first_delivery.p95_s", at_percent(seen.seconds, 95), "s", Goal{Goal::Kind::below, 1});
  add("first_delivery.p99_s", at_percent(seen.seconds, 99), "s");
  add("success_percent", percent(static_cast<double>(seen.seconds.size()), whole), "%",
      Goal{Goal::Kind::at_least, 99.9});
  add("dead_percent", percent(static_cast<double>(seen.dead), whole), "%",
      Goal{Goal::Kind::below, 0.01});
  add("retry_success_percent",
      percent(static_cast<double>(seen.retried_well), static_cast<double>(seen.refused)), "%",
      Goal{Goal::Kind::at_least, 95});
  add("unknown_errors_percent", percent(seen.unknown_errors, whole), "%",
      Goal{Goal::Kind::below, 0.1});
}

}  // namespace sagabox::bench::slo
