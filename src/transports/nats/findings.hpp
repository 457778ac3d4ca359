#pragma once

#include <sagabox/transports/nats.hpp>

#include <string>
#include <vector>

namespace sagabox::nats {

/// What can be said of the streams that take these subjects, over a connection of its own.
Result<std::vector<std::string>> find_trouble(const Options& options,
                                              const std::vector<std::string>& subjects,
                                              BootTime deadline);

}  // namespace sagabox::nats
