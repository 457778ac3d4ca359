#include "runtime/runtimes.hpp"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace sagabox::runtime {
namespace {

/// The shared runtimes of this process. Does not keep them alive.
class SharedRuntimes {
 public:
  std::unique_ptr<Registration> join(const RuntimeParts& parts, const Engine& engine) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(runtimes_, [](const auto& known) { return known.expired(); });
    for (const auto& known : runtimes_) {
      auto runtime = known.lock();
      if (runtime == nullptr || runtime->parts() != parts) continue;
      if (const auto id = runtime->add(engine)) {
        return std::make_unique<Registration>(std::move(runtime), *id);
      }
    }
    auto made = std::make_shared<Runtime>(parts, engine.lease);
    const auto id = made->add(engine).value();
    runtimes_.push_back(made);
    return std::make_unique<Registration>(std::move(made), id);
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Runtime>> runtimes_;
};

}  // namespace

std::unique_ptr<Registration> join(const RuntimeParts& parts, const Engine& engine) {
  static SharedRuntimes runtimes;
  return runtimes.join(parts, engine);
}

std::unique_ptr<Registration> start_alone(const RuntimeParts& parts, const Engine& engine) {
  auto made = std::make_shared<Runtime>(parts, engine.lease);
  const auto id = made->add(engine).value();
  return std::make_unique<Registration>(std::move(made), id);
}

}  // namespace sagabox::runtime
