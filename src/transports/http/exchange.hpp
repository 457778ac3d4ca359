#pragma once

#include "transports/http/request.hpp"
#include "transports/http/turns.hpp"

#include <memory>

namespace sagabox::http {

class Handle;

/// A parcel on its way, from `send` to its result.
struct Exchange : Turn {
  spi::Parcel parcel;
  spi::SendResults* results = nullptr;
  std::shared_ptr<const HttpAddress> address;
  BootTime deadline{};
  Request request;
  Handle* handle = nullptr;  ///< while libcurl has it
  std::uint64_t begun = 0;   ///< in the round of the sockets

  /// Ready for another parcel.
  void clear() {
    parcel = {};
    address.reset();
    request.clear();
  }
};

}  // namespace sagabox::http
