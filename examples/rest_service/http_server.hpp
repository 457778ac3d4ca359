#pragma once

#include "orders.hpp"

#include <cstdint>
#include <functional>
#include <string>

struct Request {
  std::string method;
  std::string path;
  std::string idempotency_key;  ///< empty when there was none
  std::string body;
};

/// Serves on the loopback interface until SIGINT or SIGTERM; `port` 0 takes a free one. `ready` is
/// told which. `answer` is called from several threads.
void serve(std::uint16_t port, const std::function<void(std::uint16_t port)>& ready,
           const std::function<Answer(const Request&)>& answer);
