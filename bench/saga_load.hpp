#pragma once

#include "bench/measure.hpp"
#include "bench/report.hpp"

#include <sagabox/saga.hpp>
#include <sagabox/store.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Sagas of three steps that do nothing, the same on every store.
namespace sagabox::bench {

inline constexpr std::string_view saga_name = "bench";
/// Lines of the history of each: started, three steps done, completed.
inline constexpr std::int64_t saga_history_lines = 5;

/// As many sagas as a run has, of `Size::rows`.
std::int64_t sagas_count(const Size& size);

/// Starts so many, in transactions of a thousand, before the process runs any; then runs them.
/// Sagas a second from the moment it begins until the last one is completed.
double sagas_rate(Store& store, std::int64_t count);

/// One after another in an idle process, each from the call that starts it to its end.
std::vector<double> single_saga_microseconds(Store& store, std::uint32_t count);

/// As NAME.p50_ms and NAME.p99_ms, beside the commits that such a saga needs, made by hand.
void add_single_saga(const std::string& name, const Latency& ours, const Latency& bare,
                     Report& report);

/// The most memory this process has while so many sagas that wait for a signal are started and
/// stored, in MiB.
double active_sagas_mib(Store& store, std::int64_t count);

}  // namespace sagabox::bench
