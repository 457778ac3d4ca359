#pragma once

#include "saga/plan.hpp"

#include <cstdint>
#include <map>
#include <utility>

namespace sagabox::saga {

/// The versions of one definition that this process can run. Filled before anything runs.
class PlanBook {
 public:
  void add(Plan plan) {
    const auto version = plan.definition().version;
    plans_.insert_or_assign(version, std::move(plan));
  }
  /// Null: not known here.
  [[nodiscard]] const Plan* find(std::uint32_t version) const {
    const auto at = plans_.find(version);
    return at == plans_.end() ? nullptr : &at->second;
  }
  [[nodiscard]] const Plan* newest() const {
    return plans_.empty() ? nullptr : &plans_.rbegin()->second;
  }
  [[nodiscard]] const std::map<std::uint32_t, Plan>& all() const noexcept { return plans_; }

 private:
  std::map<std::uint32_t, Plan> plans_;
};

}  // namespace sagabox::saga
