#pragma once

#include <functional>

namespace sagabox::bench::by_hand {

/// Runs `work(0)` … `work(count - 1)`, a thread each; seconds until all have ended. Throws what one
/// of them has thrown.
double seconds_side_by_side(int count, const std::function<void(int)>& work);

}  // namespace sagabox::bench::by_hand
