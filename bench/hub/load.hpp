#pragma once

#include "bench/measure.hpp"
#include "support/http_nginx.hpp"

#include <sagabox/store.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// Events and subscriptions, the same on every store.
namespace sagabox::bench::hub {

/// As many deliveries as a run has, of `Size::rows`.
std::int64_t deliveries_count(const Size& size);

/// Active ones that match every event of `publish`, all to `url`, each with a secret. The tables
/// are there. Their ids.
std::vector<std::string> subscribe(Store& store, int count, const std::string& url);
/// Commits so many events, in transactions of a thousand; nobody routes them.
void publish(Store& store, std::int64_t count);

/// Runs all roles until what was published has its deliveries, so many; deliveries a second from
/// the moment it owns its shards until the last is completed. Returns once their jobs are marked
/// as seen, too.
double deliveries_rate(Store& store, std::int64_t count);

/// One event after another into an idle hub, each from the call of `publish` to the receiver, for
/// a subscription of its own. The first ones are not counted.
inline constexpr std::uint32_t events_before_latency = 20;
std::vector<double> publish_microseconds(Store& store, std::uint32_t count);

/// What the requests of the subscriptions are signed with.
std::string signing_key();
std::string url_of(const testing::HttpNginx& receiver);

}  // namespace sagabox::bench::hub
