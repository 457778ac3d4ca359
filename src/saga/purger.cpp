#include "saga/purger.hpp"

namespace sagabox::saga {

bool Purger::step() {
  const auto now = clock_.boot_now();
  if (!begun_) {
    begun_ = true;
    due_ = now + interval;
    return false;
  }
  if (left_.empty()) {
    if (now < due_ || store_ == nullptr) return false;
    due_ = now + interval;
    left_ = mine_();
    if (left_.empty()) return false;
  }
  const auto definition = left_.back();
  const auto purged = store_->purge(definition, retention_, rows_max);
  if (!purged.ok()) {
    log_.log(LogLevel::warning, "purge of sagas failed, will be tried again",
             {{"definition", std::string_view(definition)},
              {"code", code_name(purged.error().code)},
              {"error", std::string_view(purged.error().message)}});
  }
  if (!purged.ok() || *purged < rows_max) left_.pop_back();
  return !left_.empty();
}

BootTime Purger::next(BootTime now) const {
  if (!begun_ || !left_.empty()) return now;
  return due_;
}

}  // namespace sagabox::saga
