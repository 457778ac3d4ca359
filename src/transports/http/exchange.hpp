#pragma once

#include "transports/http/request.hpp"
#include "transports/http/turns.hpp"

#include <memory>

namespace sagabox::http {

class Handle;

/// A parcel in flight, from `send` to its result.
struct Exchange : Turn {
  spi::Parcel parcel;
  spi::SendResults* results = nullptr;
  std::shared_ptr<const HttpAddress> address;
  BootTime deadline{};
  Request request;
  Handle* handle = nullptr;  ///< while libcurl processes it
  std::uint64_t begun = 0;   ///< the round of the sockets when it began

  /// Resets it for another parcel.
  void clear() {
    parcel = {};
    address.reset();
    request.clear();
  }
};

}  // namespace sagabox::http
