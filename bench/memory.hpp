#pragma once

namespace sagabox::bench {

/// The most memory this process had since `forget_peak`.
double peak_mib();
/// Gives memory that is not used back first.
void forget_peak();

}  // namespace sagabox::bench
