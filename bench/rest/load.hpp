#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace sagabox::bench::rest {

struct Load {
  std::uint16_t port = 0;
  int connections = 64;
  std::int64_t requests = 0;
  /// The whole text of a request, by its number from 1.
  std::function<std::string(std::int64_t)> request;
};

/// Each connection has one request under way; one thread serves all, so that the load costs little.
/// Returns when all were answered 201; throws when one was not.
void send_all(const Load& load);

}  // namespace sagabox::bench::rest
