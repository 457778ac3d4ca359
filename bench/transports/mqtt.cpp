#include "bench/baselines/transports/mqtt_loop.hpp"
#include "bench/duel.hpp"
#include "bench/transports/bench.hpp"
#include "bench/transports/feed.hpp"
#include "support/mosquitto_server.hpp"

#include <sagabox/transports/mqtt.hpp>

namespace sagabox::bench::transports {

void mqtt_publish(const Size& size, Report& report) {
  // Mosquitto's default of 20 without an answer measures the way there and back alone.
  const sagabox::testing::MosquittoServer server({"max_inflight_messages 1000"});
  if (!server.problem().empty()) return report.skip("mqtt.publish", server.problem());
  const Feed feed(size.messages / 10);
  const mqtt::Options options{.port = server.port()};
  const auto ours = [&] {
    const auto transport = mqtt::open(options).value();
    return feed.deliver(*transport, "mqtt:bench");
  };
  const auto with_window = [&](std::uint32_t window) {
    return Contender{"libmosquitto and its thread, window of " + std::to_string(window),
                     [&, window] {
                       return baselines::mqtt_loop(
                           server.port(), "bench", feed.size(), window,
                           [&](std::uint32_t number) { return feed.parcel(number, {}); });
                     }};
  };
  const auto best = best_of("mqtt.publish", {with_window(900), with_window(100)}, size, report);
  const auto [our_rate, baseline_rate] = duel(size.repeats, ours, best.run);
  report.add({.name = "mqtt.publish",
              .value = our_rate,
              .unit = "messages/s",
              .baseline = baseline_rate,
              .baseline_name = best.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

}  // namespace sagabox::bench::transports
