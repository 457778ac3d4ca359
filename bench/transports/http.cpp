#include "bench/duel.hpp"
#include "bench/transports/bare_http.hpp"
#include "bench/transports/bench.hpp"
#include "bench/transports/feed.hpp"
#include "bench/workload.hpp"
#ifdef SAGABOX_BENCH_POSTGRES
#include "bench/postgres/relay.hpp"
#include "bench/postgres/world.hpp"
#endif
#include "support/http_nginx.hpp"

#include <sagabox/router.hpp>
#include <sagabox/transports/http.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace sagabox::bench::transports {
namespace {

using sagabox::testing::HttpNginx;

/// What `wrk` gets out of the same server; 0 when it is not installed.
double wrk_rate(const std::string& url, std::uint32_t connections) {
  const auto command = fmt::format("wrk -t1 -c{} -d3s {} 2>/dev/null", connections, url);
  const std::unique_ptr<FILE, int (*)(FILE*)> said(popen(command.c_str(), "r"), pclose);
  std::array<char, 256> line{};
  double rate = 0;
  while (said && std::fgets(line.data(), line.size(), said.get()) != nullptr) {
    if (std::sscanf(line.data(), "Requests/sec: %lf", &rate) == 1) break;
  }
  return rate;
}

/// With the same messages and headers.
Contender bare_loop(const std::string& name, const std::string& url, const Feed& feed,
                    const Size& size, Report& report) {
  return bare_http(name,
                   {.url = url,
                    .messages = feed.size(),
                    .parcel = [&](std::uint32_t number) { return feed.parcel(number, {}); }},
                   size, report);
}

void beside_wrk(const std::string& name, const std::string& url, double rate, Report& report) {
  const auto wrk = wrk_rate(url, http::Options{}.concurrency);
  if (wrk == 0) return report.skip(name, "wrk is not installed");
  report.add({.name = name,
              .value = rate,
              .unit = "messages/s",
              .baseline = wrk,
              .baseline_name = "wrk, GET without headers, one thread"});
}

}  // namespace

void http_transport(const Size& size, Report& report) {
  if (const auto problem = HttpNginx::problem(); !problem.empty()) {
    return report.skip("http.transport", problem);
  }
  const HttpNginx nginx(HttpNginx::Speaks::plain);
  const auto url = fmt::format("http://127.0.0.1:{}/", nginx.port());
  const Feed feed(size.messages / 5);
  const auto ours = [&] {
    const auto transport = http::open({.allow = {"127.0.0.0/8"}}).value();
    return feed.deliver(*transport, url);
  };
  const auto best = bare_loop("http.transport", url, feed, size, report);
  const auto [our_rate, baseline_rate] = duel(size.repeats, ours, best.run);
  report.add({.name = "http.transport",
              .value = our_rate,
              .unit = "messages/s",
              .baseline = baseline_rate,
              .baseline_name = best.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
  beside_wrk("http.transport.vs_wrk", url, our_rate, report);
}

#ifdef SAGABOX_BENCH_POSTGRES
void http_durable(const Size& size, Report& report) {
  if (const auto problem = HttpNginx::problem(); !problem.empty()) {
    return report.skip("http.durable", problem);
  }
  const HttpNginx nginx(HttpNginx::Speaks::plain);
  const auto url = fmt::format("http://127.0.0.1:{}/", nginx.port());
  const auto rows = size.rows / 4;
  const auto ours = [&] {
    postgres::world().fill(rows);
    auto options = deleting();
    options.sink =
        Router::open({.routes = {{.topic = "**", .to = {{url}}}},
                      .transports = {{"http", http::open({.allow = {"127.0.0.0/8"}}).value()}}})
            .value();
    return postgres::drain(postgres::world(), rows, options);
  };
  const Feed feed(static_cast<std::uint32_t>(rows));
  const auto best = bare_loop("http.durable", url, feed, size, report);
  const auto [our_rate, baseline_rate] = duel(size.repeats, ours, best.run);
  report.add({.name = "http.durable",
              .value = our_rate,
              .unit = "messages/s",
              .baseline = baseline_rate,
              .baseline_name = best.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.50}});
  beside_wrk("http.durable.vs_wrk", url, our_rate, report);
}
#endif

}  // namespace sagabox::bench::transports
