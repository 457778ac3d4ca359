#pragma once

#include <sagabox/transports/nats.hpp>

#include <nats/nats.h>

#include <memory>
#include <string>
#include <vector>

namespace sagabox::nats {

struct DestroyOptions {
  void operator()(natsOptions* options) const noexcept { natsOptions_Destroy(options); }
};
using OptionsHandle = std::unique_ptr<natsOptions, DestroyOptions>;

/// Servers, credentials and TLS for libnats. CONFIG.INVALID if it refuses them; the text contains
/// no secret.
Result<OptionsHandle> client_options(const Options& options,
                                     const std::vector<std::string>& more_servers);

/// libnats' text for the failure of this thread's last call.
std::string trouble(natsStatus status);

}  // namespace sagabox::nats
