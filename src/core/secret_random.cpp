#include "core/secret_random.hpp"

#include "core/immortal.hpp"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace sagabox {
namespace {

class SecretRandom final : public Random {
 public:
  std::uint64_t next() override {
    std::uint64_t number = 0;
    while (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
      if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    return number;
  }
};

}  // namespace

Random& secret_random() { return immortal<SecretRandom>(); }

}  // namespace sagabox
