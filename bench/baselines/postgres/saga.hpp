#pragma once

#include "bench/baselines/saga_text.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Sagas of three steps as one writes them by hand on the same tables: batches, each step committed
/// before the next begins, with the same history.
namespace sagabox::bench::by_hand {

struct SagaLoopLoad {
  std::string url;
  std::int64_t sagas = 0;  ///< started and not begun
  SagaText text{};
  int batch = 500;
  int connections = 2;
};

/// Sagas a second; throws when it has not completed exactly `sagas`.
double saga_loop(const SagaLoopLoad& load);

/// What one saga alone needs, one after another: its start and four batches of one, in
/// microseconds.
std::vector<double> saga_commits(const std::string& url, const SagaText& text, std::uint32_t count);

}  // namespace sagabox::bench::by_hand
