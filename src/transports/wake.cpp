#include "transports/wake.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace sagabox::transports {

Wake::Wake() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
Wake::~Wake() { ::close(descriptor_); }
void Wake::ring() noexcept {
  const std::uint64_t once = 1;
  (void)!::write(descriptor_, &once, sizeof once);
}
void Wake::silence() noexcept {
  std::uint64_t rung = 0;
  (void)!::read(descriptor_, &rung, sizeof rung);
}

}  // namespace sagabox::transports
