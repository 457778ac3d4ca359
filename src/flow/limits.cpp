#include <sagabox/limits.hpp>

#include <string>

namespace sagabox {
namespace {

Error invalid(std::string what) { return {Code::config_invalid, std::move(what)}; }

}  // namespace

Status Limits::check() const {
  if (rate && *rate == 0)
    return invalid("rate is 0; leave it out for no limit, or pause the topic");
  if (burst && *burst == 0) return invalid("burst is 0; it must be at least 1");
  if (burst && !rate) return invalid("burst needs a rate");
  if (concurrency && *concurrency == 0) {
    return invalid("concurrency is 0; leave it out for no limit, or pause the topic");
  }
  if (budget && (budget->messages == 0 || budget->window <= Duration{})) {
    return invalid("budget needs a number of messages and a window above 0");
  }
  return {};
}

Status BreakerOptions::check() const {
  if (timeouts_max == 0) return invalid("timeouts_max is 0; it must be at least 1");
  if (probe_min <= Duration{} || probe_max < probe_min) {
    return invalid("probe_min must be above 0 and at most probe_max");
  }
  if (pause_max <= Duration{}) return invalid("pause_max must be above 0");
  return {};
}

}  // namespace sagabox
