#pragma once

namespace sagabox::cli {

/// What systemd is told: "READY=1". Nothing happens when it did not start us, or in a build without
/// libsystemd.
void tell_systemd(const char* state) noexcept;

}  // namespace sagabox::cli
