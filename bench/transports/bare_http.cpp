#include "bench/transports/bare_http.hpp"

#include <fmt/format.h>

namespace sagabox::bench::transports {

Contender bare_http(const std::string& name, const baselines::HttpLoop& like, const Size& size,
                    Report& report) {
  using baselines::HttpWaiting;
  const auto loop = [&](HttpWaiting waiting, std::uint32_t connections) {
    const auto* const how = waiting == HttpWaiting::epoll ? "epoll" : "curl_multi_poll";
    auto one = like;
    one.waiting = waiting;
    one.connections = connections;
    return Contender{fmt::format("libcurl multi, {}, {} connections", how, connections),
                     [one] { return baselines::http_loop(one); }};
  };
  return best_of(
      name,
      {loop(HttpWaiting::epoll, 64), loop(HttpWaiting::poll, 64), loop(HttpWaiting::epoll, 16),
       loop(HttpWaiting::poll, 16), loop(HttpWaiting::epoll, 256)},
      size, report);
}

}  // namespace sagabox::bench::transports
