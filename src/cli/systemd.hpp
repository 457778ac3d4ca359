#pragma once

namespace sagabox::cli {

/// Sends a state to systemd: "READY=1". No-op if systemd did not start us, or in a build without
/// libsystemd.
void tell_systemd(const char* state) noexcept;

}  // namespace sagabox::cli
