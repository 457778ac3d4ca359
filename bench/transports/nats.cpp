#include "bench/baselines/transports/nats_loop.hpp"
#include "bench/duel.hpp"
#include "bench/transports/bench.hpp"
#include "bench/transports/feed.hpp"
#include "support/nats_server.hpp"

#include <sagabox/transports/nats.hpp>

#include <nats/nats.h>

#include <stdexcept>

namespace sagabox::bench::transports {
namespace {

/// A stream in memory, so that the disk does not hide what the client costs. It forgets ids soon:
/// the same messages are sent again and again.
class NatsWorld {
 public:
  NatsWorld() {
    if (!server_.problem().empty()) return;
    check(natsConnection_ConnectTo(&connection_, url().c_str()));
    check(natsConnection_JetStream(&context_, connection_, nullptr));
  }
  NatsWorld(const NatsWorld&) = delete;
  NatsWorld& operator=(const NatsWorld&) = delete;
  ~NatsWorld() {
    jsCtx_Destroy(context_);
    natsConnection_Destroy(connection_);
  }

  [[nodiscard]] const std::string& problem() const { return server_.problem(); }
  [[nodiscard]] std::string url() const { return server_.url(); }

  /// What `run` says, on a new stream that has all messages afterwards.
  double measure(std::uint32_t messages, const std::function<double()>& run) {
    const char* subjects[] = {"bench"};
    jsStreamConfig config;
    check(jsStreamConfig_Init(&config));
    config.Name = "BENCH";
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_MemoryStorage;
    check(js_AddStream(nullptr, context_, &config, nullptr, nullptr));
    const auto rate = run();
    jsStreamInfo* info = nullptr;
    check(js_GetStreamInfo(&info, context_, "BENCH", nullptr, nullptr));
    const auto stored = info->State.Msgs;
    jsStreamInfo_Destroy(info);
    check(js_DeleteStream(context_, "BENCH", nullptr, nullptr));
    if (stored != messages) {
      throw std::runtime_error("nats: " + std::to_string(stored) + " stored of " +
                               std::to_string(messages));
    }
    return rate;
  }

 private:
  static void check(natsStatus status) {
    if (status != NATS_OK) throw std::runtime_error(natsStatus_GetText(status));
  }

  sagabox::testing::NatsServer server_;
  natsConnection* connection_ = nullptr;
  jsCtx* context_ = nullptr;
};

}  // namespace

void nats_publish(const Size& size, Report& report) {
  NatsWorld world;
  if (!world.problem().empty()) return report.skip("nats.publish", world.problem());
  const Feed feed(size.messages / 5);
  const nats::Options options{.servers = {world.url()}};
  const auto ours = [&] {
    return world.measure(feed.size(), [&] {
      const auto transport = nats::open(options).value();
      return feed.deliver(*transport, "nats:bench");
    });
  };
  std::vector<Contender> sweep;
  for (const std::uint32_t under_way_max : {2048U, 512U, 65'536U}) {
    sweep.push_back(
        {"js_PublishMsgAsync, " + std::to_string(under_way_max) + " under way", [&, under_way_max] {
           return world.measure(feed.size(), [&] {
             return baselines::nats_loop(
                 world.url(), "bench", feed.size(), under_way_max,
                 [&](std::uint32_t number) { return feed.parcel(number, {}); });
           });
         }});
  }
  const auto baseline = best_of("nats.publish", std::move(sweep), size, report);
  const auto [our_rate, baseline_rate] = duel(size.repeats, ours, baseline.run);
  report.add({.name = "nats.publish",
              .value = our_rate,
              .unit = "messages/s",
              .baseline = baseline_rate,
              .baseline_name = "libnats, " + baseline.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

}  // namespace sagabox::bench::transports
