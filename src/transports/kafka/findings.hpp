#pragma once

#include <sagabox/transports/kafka.hpp>

#include <string>
#include <vector>

namespace sagabox::kafka {

/// The findings about these topics, read over a client of its own.
Result<std::vector<std::string>> find_trouble(const Options& options,
                                              const std::vector<std::string>& topics,
                                              BootTime deadline);

}  // namespace sagabox::kafka
