#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The rows of a delivery hub as one writes them by hand on the same tables: batches, each step
/// committed before the next begins.
namespace sagabox::bench::by_hand::sqlite {

/// Deliveries a second of what was published, `batch` at a time; nothing is sent. Throws when it
/// has not completed exactly `count`.
double hub_loop(const std::string& path, const std::vector<std::string>& subscriptions,
                std::int64_t count, int batch);

}  // namespace sagabox::bench::by_hand::sqlite
