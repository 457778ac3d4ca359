#pragma once

#include "bench/baselines/transports/http_loop.hpp"
#include "bench/duel.hpp"
#include "bench/measure.hpp"
#include "bench/report.hpp"

#include <string>

namespace sagabox::bench::transports {

/// libcurl alone, the best of several ways to wait and numbers of connections. What `like` refers
/// to outlives the contender.
Contender bare_http(const std::string& name, const baselines::HttpLoop& like, const Size& size,
                    Report& report);

}  // namespace sagabox::bench::transports
