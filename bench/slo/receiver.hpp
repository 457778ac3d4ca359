#pragma once

#include "bench/measure.hpp"
#include "support/http_server.hpp"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace sagabox::bench::slo {

/// Whether the receiver refuses this one once.
constexpr bool is_refused(std::uint64_t number) { return number % 100 == 99; }

/// An HTTP receiver that remembers when it took each message, and fails at one in a hundred when
/// it first comes.
class Receiver {
 public:
  explicit Receiver(std::uint64_t messages);

  [[nodiscard]] std::uint16_t port() const { return server_.port(); }

  struct Seen {
    Steady::time_point taken{};  ///< zero: never
    bool refused = false;
  };
  [[nodiscard]] std::vector<Seen> all() const;

 private:
  testing::HttpReply answer(const testing::HttpRequest& request);

  mutable std::mutex mutex_;
  std::vector<Seen> seen_;
  testing::HttpServer server_;
};

}  // namespace sagabox::bench::slo
