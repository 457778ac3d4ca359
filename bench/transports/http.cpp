#include "bench/baselines/transports/http_loop.hpp"
#include "bench/duel.hpp"
#include "bench/transports/bench.hpp"
#include "bench/transports/feed.hpp"
#include "support/http_nginx.hpp"

#include <sagabox/transports/http.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace sagabox::bench::transports {
namespace {

using baselines::HttpWaiting;
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

}  // namespace

void http_transport(const Size& size, Report& report) {
  if (const auto problem = HttpNginx::problem(); !problem.empty()) {
    return report.skip("http.transport", problem);
  }
  const HttpNginx nginx(HttpNginx::Speaks::plain);
  const auto url = fmt::format("http://127.0.0.1:{}/", nginx.port());
  const Feed feed(size.messages / 5);
  const http::Options options{.allow = {"127.0.0.0/8"}};
  const auto ours = [&] {
    const auto transport = http::open(options).value();
    return feed.deliver(*transport, url);
  };
  const auto loop = [&](HttpWaiting waiting, std::uint32_t connections) {
    const auto* const how = waiting == HttpWaiting::epoll ? "epoll" : "curl_multi_poll";
    return Contender{fmt::format("libcurl multi, {}, {} connections", how, connections),
                     [&, waiting, connections] {
                       return baselines::http_loop(
                           {url, feed.size(), connections, waiting,
                            [&](std::uint32_t number) { return feed.parcel(number, {}); }});
                     }};
  };
  const auto best = best_of(
      "http.transport",
      {loop(HttpWaiting::epoll, 64), loop(HttpWaiting::poll, 64), loop(HttpWaiting::epoll, 16),
       loop(HttpWaiting::poll, 16), loop(HttpWaiting::epoll, 256)},
      size, report);
  const auto [our_rate, baseline_rate] = duel(size.repeats, ours, best.run);
  report.add({.name = "http.transport",
              .value = our_rate,
              .unit = "messages/s",
              .baseline = baseline_rate,
              .baseline_name = best.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
  const auto wrk = wrk_rate(url, options.concurrency);
  if (wrk == 0) return report.skip("http.transport.vs_wrk", "wrk is not installed");
  report.add({.name = "http.transport.vs_wrk",
              .value = our_rate,
              .unit = "messages/s",
              .baseline = wrk,
              .baseline_name = "wrk, GET without headers, one thread"});
}

}  // namespace sagabox::bench::transports
