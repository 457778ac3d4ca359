#pragma once

#include <sagabox/metrics.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace sagabox {

/// Null for a name that is not in the catalogue.
const MetricInfo* find_metric(std::string_view name);

/// The values of `labels` in the order of the catalogue; false unless they are exactly the labels
/// of the metric.
bool values_in_order(const MetricInfo& metric, std::span<const Label> labels,
                     std::vector<std::string_view>& values);

/// Upper bounds: of seconds for metrics that end in _seconds, of rows for the others.
std::span<const double> histogram_buckets(std::string_view name);

}  // namespace sagabox
