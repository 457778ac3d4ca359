#pragma once

#include <sagabox/time.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sagabox {

/// What keeps messages of a topic and a tenant from one target at the moment, as one router knows.
struct HeldUp {
  enum class By : std::uint8_t {
    no_route,  ///< there is no target
    down,      ///< the target is tried now and then
    limit,     ///< of the route, the transport or the tenant
    others,    ///< as many are on their way or in line before them as may be
  };
  By by = By::no_route;
  std::string target{};  ///< without secrets; of `no_route` none
  std::string what{};    ///< down: the last error; limit: whose, and which
  Duration since{};      ///< down: for so long
  std::optional<Duration>
      next{};  ///< it goes on, or is tried again, after this; nothing: not known
};

/// Nothing: messages of this topic and tenant can go.
using AskHeldUp =
    std::function<std::vector<HeldUp>(const std::string& topic, const std::string& tenant)>;

}  // namespace sagabox
