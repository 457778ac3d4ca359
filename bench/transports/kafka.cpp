#include "bench/baselines/transports/kafka_loop.hpp"
#include "bench/duel.hpp"
#include "bench/transports/bench.hpp"
#include "bench/transports/feed.hpp"

#include <sagabox/transports/kafka.hpp>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <stdexcept>

namespace sagabox::bench::transports {
namespace {

/// librdkafka's mock cluster; a new one for each run, because it keeps everything in memory.
class MockCluster {
 public:
  MockCluster() {
    auto* const conf = rd_kafka_conf_new();
    std::array<char, 512> text{};
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", text.data(), text.size());
    rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
    keeper_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text.data(), text.size());
    if (keeper_ == nullptr) throw std::runtime_error(text.data());
    rd_kafka_mock_topic_create(rd_kafka_handle_mock_cluster(keeper_), "bench", 4, 1);
  }
  MockCluster(const MockCluster&) = delete;
  MockCluster& operator=(const MockCluster&) = delete;
  ~MockCluster() { rd_kafka_destroy(keeper_); }

  [[nodiscard]] std::string brokers() const {
    return rd_kafka_mock_cluster_bootstraps(rd_kafka_handle_mock_cluster(keeper_));
  }

 private:
  rd_kafka_t* keeper_ = nullptr;
};

}  // namespace

void kafka_publish(const Size& size, Report& report) {
  const Feed feed(size.messages / 5);
  const auto ours = [&] {
    const MockCluster cluster;
    const auto transport = kafka::open({.brokers = cluster.brokers()}).value();
    return feed.deliver(*transport, "kafka:bench");
  };
  std::vector<Contender> sweep;
  for (const std::uint32_t under_way_max : {2048U, 1024U, 100'000U}) {
    sweep.push_back(
        {"rd_kafka_produceva, " + std::to_string(under_way_max) + " under way", [&, under_way_max] {
           const MockCluster cluster;
           return baselines::kafka_loop(
               cluster.brokers(), "bench", feed.size(), under_way_max,
               [&](std::uint32_t number) { return feed.parcel(number, {}); });
         }});
  }
  const auto baseline = best_of("kafka.publish", std::move(sweep), size, report);
  const auto [our_rate, baseline_rate] = duel(size.repeats, ours, baseline.run);
  report.add({.name = "kafka.publish",
              .value = our_rate,
              .unit = "messages/s",
              .baseline = baseline_rate,
              .baseline_name = "mock cluster, " + baseline.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

}  // namespace sagabox::bench::transports
