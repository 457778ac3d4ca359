#pragma once

#include "bench/baselines/postgres/link.hpp"

#include <cstdint>
#include <string>

/// Requests remembered as one does it by hand, in the same table.
namespace sagabox::bench::by_hand {

/// One connection, each statement a transaction of its own.
class RequestClient {
 public:
  explicit RequestClient(const std::string& url);

  /// INSERT … ON CONFLICT DO NOTHING, and the UPDATE of who was let through. Throws when the key
  /// was there.
  void run(const std::string& key, std::int64_t ticket);

 private:
  Link link_;
};

}  // namespace sagabox::bench::by_hand
