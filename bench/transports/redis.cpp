#include "bench/baselines/transports/redis_loop.hpp"
#include "bench/duel.hpp"
#include "bench/transports/bench.hpp"
#include "bench/transports/feed.hpp"
#include "support/redis_server.hpp"

#include <sagabox/transports/redis.hpp>

#include <hiredis/hiredis.h>

#include <memory>
#include <stdexcept>

namespace sagabox::bench::transports {
namespace {

/// What `run` says; the stream has all messages afterwards, and is gone then.
double rate_when_all_stored(std::uint16_t port, std::uint32_t messages,
                            const std::function<double()>& run) {
  const auto rate = run();
  const std::unique_ptr<redisContext, decltype(&redisFree)> client(redisConnect("127.0.0.1", port),
                                                                   redisFree);
  const auto ask = [&](const char* command) {
    auto* const reply = static_cast<redisReply*>(redisCommand(client.get(), command));
    const auto number = reply == nullptr ? -1 : reply->integer;
    if (reply != nullptr) freeReplyObject(reply);
    return number;
  };
  const auto stored = ask("XLEN bench");
  ask("DEL bench");
  if (stored != messages) {
    throw std::runtime_error("redis: " + std::to_string(stored) + " stored of " +
                             std::to_string(messages));
  }
  return rate;
}

}  // namespace

void redis_publish(const Size& size, Report& report) {
  // In memory, so that the disk does not hide what the client costs.
  const sagabox::testing::RedisServer server({"--appendonly", "no"});
  if (!server.problem().empty()) return report.skip("redis.publish", server.problem());
  const Feed feed(size.messages / 5);
  const redis::Options options{.port = server.port()};
  const auto ours = [&] {
    return rate_when_all_stored(server.port(), feed.size(), [&] {
      const auto transport = redis::open(options).value();
      return feed.deliver(*transport, "redis:bench");
    });
  };
  const auto with_window = [&](std::uint32_t window) {
    return Contender{"hiredis, pipelines of " + std::to_string(window), [&, window] {
                       return rate_when_all_stored(server.port(), feed.size(), [&] {
                         return baselines::redis_loop(
                             server.port(), "bench", feed.size(), window,
                             [&](std::uint32_t number) { return feed.parcel(number, {}); });
                       });
                     }};
  };
  const auto best = best_of("redis.publish", {with_window(256), with_window(64), with_window(1024)},
                            size, report);
  const auto [our_rate, baseline_rate] = duel(size.repeats, ours, best.run);
  report.add({.name = "redis.publish",
              .value = our_rate,
              .unit = "messages/s",
              .baseline = baseline_rate,
              .baseline_name = best.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

}  // namespace sagabox::bench::transports
