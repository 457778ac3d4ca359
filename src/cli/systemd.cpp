#include "cli/systemd.hpp"

#ifdef SAGABOX_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace sagabox::cli {

void tell_systemd([[maybe_unused]] const char* state) noexcept {
#ifdef SAGABOX_SYSTEMD
  (void)sd_notify(0, state);
#endif
}

}  // namespace sagabox::cli
