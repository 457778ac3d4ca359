#pragma once

#include <sagabox/transports/nats.hpp>

#include <string>
#include <vector>

namespace sagabox::nats {

/// The findings about the streams that take these subjects, read over a connection of its own.
Result<std::vector<std::string>> find_trouble(const Options& options,
                                              const std::vector<std::string>& subjects,
                                              BootTime deadline);

}  // namespace sagabox::nats
