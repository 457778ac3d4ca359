#pragma once

#include "server/http/request_handler.hpp"
#include "wire/readiness.hpp"

#include <atomic>
#include <functional>
#include <vector>

namespace sagabox::server {

/// Returns the state of a daemon's tables while it waits for its stores.
using Starting = std::function<std::vector<wire::TableReadiness>()>;

/// Placed before the API: answers requests itself while there is none, so that a daemon that waits
/// for its stores differs from one that is not running. Thread-safe.
class Front final : public RequestHandler {
 public:
  explicit Front(Starting starting) : starting_(std::move(starting)) {}

  /// From now on requests are passed to `api`, which must outlive the front.
  void open(RequestHandler& api) noexcept { api_.store(&api, std::memory_order_release); }

  Admission admit(const Request& header) override;
  void begin(const Request& request, const Reply& reply) override;

 private:
  [[nodiscard]] Admission of_its_own(const Request& request) const;

  const Starting starting_;
  std::atomic<RequestHandler*> api_{nullptr};
};

}  // namespace sagabox::server
