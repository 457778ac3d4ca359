#pragma once

#include <sagabox/spi/transport.hpp>

#include <nats/nats.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace sagabox::nats {

struct DestroyMessage {
  void operator()(natsMsg* message) const noexcept { natsMsg_Destroy(message); }
};
using MessageHandle = std::unique_ptr<natsMsg, DestroyMessage>;

/// Makes the libnats messages of parcels; reused to keep its buffers.
class Publication {
 public:
  struct Made {
    MessageHandle message;  ///< null: out of memory
    /// The size as the server counts it: headers and payload.
    std::size_t bytes = 0;
  };
  Made make(const spi::Parcel& parcel, const std::string& reply);

 private:
  bool add(natsMsg* message, std::string_view value);

  std::string name_;
  std::string value_;
  std::size_t bytes_ = 0;
};

/// CloudEvents' rule for headers: space, ", % and everything that is not printable ASCII as %XX.
void append_encoded(std::string& out, std::string_view text);
/// The same for the name of a header, which a colon would end.
void append_encoded_name(std::string& out, std::string_view text);

}  // namespace sagabox::nats
