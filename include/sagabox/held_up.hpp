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
    no_route,  ///< there is no target
    down,      ///< the target is tried now and then
    limit,     ///< of the route, the transport or the tenant
    others,    ///< as many are on their way or in line before them as may be
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
