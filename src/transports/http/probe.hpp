#pragma once

#include "transports/http/address_guard.hpp"

#include <sagabox/time.hpp>

#include <string>
#include <vector>

namespace sagabox::http {

struct Probe {
  const AddressGuard& guard;
  const std::string& ca_file;
  const std::vector<std::string>& resolve;
  BootTime deadline;
  const Clock& clock;
};

/// Connects to all of these (`https://host:port`) at the same time, including TLS, without sending
/// a request. Returns those that could not be reached by the deadline, with the reason.
std::vector<std::string> unreachable(const std::vector<std::string>& endpoints, const Probe& probe);

}  // namespace sagabox::http
