#include "bench/hub/rate.hpp"

#include "bench/baselines/transports/webhook_headers.hpp"
#include "bench/hub/load.hpp"
#include "bench/transports/bare_http.hpp"
#include "bench/transports/feed.hpp"
#include "support/http_nginx.hpp"

namespace sagabox::bench::hub {

void add_rate(const RateOnStore& on, const Size& size, Report& report) {
  using testing::HttpNginx;
  if (const auto problem = HttpNginx::problem(); !problem.empty()) {
    return report.skip(on.name, problem);
  }
  const HttpNginx receiver(HttpNginx::Speaks::plain);
  const RateLoad load{.events = deliveries_count(size) / on.fan_out,
                      .fan_out = on.fan_out,
                      .url = url_of(receiver)};
  const auto rows = best_of("rows of " + on.name + " by hand", on.rows(load), size, report);
  const transports::Feed feed(static_cast<std::uint32_t>(load.events * load.fan_out));
  const auto parcel = [&](std::uint32_t number) {
    auto made = feed.parcel(number, {});
    made.source = "/sagabox/hub";
    return made;
  };
  const auto sign = [&](const spi::Parcel& of) {
    return baselines::webhook_headers(of, signing_key());
  };
  const auto requests = transports::bare_http(
      "requests of " + on.name + " by hand",
      {.url = load.url, .messages = feed.size(), .parcel = parcel, .more_headers = sign}, size,
      report);
  const auto result = duel(
      size.repeats, [&] { return on.ours(load); },
      [&] { return 1 / (1 / rows.run() + 1 / requests.run()); });
  report.add({.name = on.name,
              .value = result.ours,
              .unit = "deliveries/s",
              .baseline = result.baseline,
              .baseline_name = "rows by hand, " + rows.name + ", then " + requests.name,
              .goal = Goal{Goal::Kind::ratio_at_least, 0.50}});
}

}  // namespace sagabox::bench::hub
