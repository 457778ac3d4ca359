#pragma once

#include "server/http/request_handler.hpp"
#include "wire/readiness.hpp"

#include <atomic>
#include <functional>
#include <vector>

namespace sagabox::server {

/// What a daemon says of its tables while its stores are not there yet.
using Starting = std::function<std::vector<wire::TableReadiness>()>;

/// Stands before the API: answers by itself while there is none, so that a daemon that waits for
/// its stores can be told from one that is not there. Safe from any thread.
class Front final : public RequestHandler {
 public:
  explicit Front(Starting starting) : starting_(std::move(starting)) {}

  /// From now on requests go there; it outlives the front.
  void open(RequestHandler& api) noexcept { api_.store(&api, std::memory_order_release); }

  Admission admit(const Request& header) override;
  void begin(const Request& request, const Reply& reply) override;

 private:
  [[nodiscard]] Admission of_its_own(const Request& request) const;

  const Starting starting_;
  std::atomic<RequestHandler*> api_{nullptr};
};

}  // namespace sagabox::server
