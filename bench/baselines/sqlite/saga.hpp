#pragma once

#include "bench/baselines/saga_text.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Sagas of three steps as one writes them by hand on the same tables: batches, each step committed
/// before the next begins, with the same history.
namespace sagabox::bench::by_hand::sqlite {

/// The tables must be there.
void start_sagas(const std::string& path, std::int64_t count);

/// Sagas a second of what was started; throws when it has not completed exactly `count`.
double saga_loop(const std::string& path, const SagaText& text, std::int64_t count, int batch);

/// What one saga alone needs, one after another: its start and four batches of one, in
/// microseconds.
std::vector<double> saga_commits(const std::string& path, const SagaText& text,
                                 std::uint32_t count);

}  // namespace sagabox::bench::by_hand::sqlite
