#pragma once

#include <sagabox/time.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sagabox {

/// The reason why one router currently sends no messages of a topic and a tenant to one target.
struct HeldUp {
  enum class By : std::uint8_t {
    no_route,  ///< no route matches: messages given to the router become dead
    down,      ///< the target is down and is probed at intervals
    limit,     ///< a limit of the route, the transport or the tenant is reached
    others,    ///< the target has as many messages under way or queued as allowed
  };
  By by = By::no_route;
  std::string target{};            ///< without secrets; empty for `no_route`
  std::string what{};              ///< down: the last error; limit: which limit, and of what
  Duration since{};                ///< down: for how long
  std::optional<Duration> next{};  ///< time until it continues or is probed; nullopt: not known
};

/// Returns one entry a target that is held up; empty if messages of this topic and tenant can be
/// sent.
using AskHeldUp =
    std::function<std::vector<HeldUp>(const std::string& topic, const std::string& tenant)>;

}  // namespace sagabox
