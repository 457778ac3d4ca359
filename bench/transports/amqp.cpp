#include "bench/baselines/transports/amqp_loop.hpp"
#include "bench/duel.hpp"
#include "bench/transports/bench.hpp"
#include "bench/transports/feed.hpp"
#include "support/amqp_client.hpp"
#include "support/rabbitmq_server.hpp"

#include <sagabox/transports/amqp.hpp>

#include <unistd.h>

#include <stdexcept>

namespace sagabox::bench::transports {
namespace {

/// What `run` says of a new queue that keeps the last few: a queue that grows slows the server
/// down.
double rate_with_new_queue(std::uint16_t port, int number,
                           const std::function<double(std::string)>& run) {
  const auto queue = "bench-" + std::to_string(number);
  sagabox::testing::AmqpClient client(port);
  client.declare_queue(queue, {{"x-max-length", "1000"}});
  const auto rate = run(queue);
  if (client.take_all(queue).empty()) throw std::runtime_error("amqp: the queue is empty");
  return rate;
}

}  // namespace

void amqp_publish(const Size& size, Report& report) {
  const auto server = sagabox::testing::RabbitmqServer::start_new(getpid());
  if (!server.problem().empty()) return report.skip("amqp.publish", server.problem());
  const Feed feed(size.messages / 20);
  const amqp::Options options{.port = server.port()};
  int queues = 0;
  const auto ours = [&] {
    return rate_with_new_queue(server.port(), ++queues, [&](const std::string& queue) {
      const auto transport = amqp::open(options).value();
      return feed.deliver(*transport, "amqp:/" + queue);
    });
  };
  const auto with_window = [&](std::uint32_t window) {
    return Contender{"librabbitmq, confirms, window of " + std::to_string(window), [&, window] {
                       return rate_with_new_queue(
                           server.port(), ++queues, [&](const std::string& queue) {
                             return baselines::amqp_loop(
                                 server.port(), queue, feed.size(), window,
                                 [&](std::uint32_t number) { return feed.parcel(number, {}); });
                           });
                     }};
  };
  const auto best = best_of("amqp.publish",
                            {with_window(1024), with_window(256), with_window(4096)}, size, report);
  const auto [our_rate, baseline_rate] = duel(size.repeats, ours, best.run);
  report.add({.name = "amqp.publish",
              .value = our_rate,
              .unit = "messages/s",
              .baseline = baseline_rate,
              .baseline_name = best.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

}  // namespace sagabox::bench::transports
