#pragma once

#include <sagabox/error.hpp>
#include <sagabox/hub_record.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::delivery {

/// A delivery that does not go on because the store refuses what became of it.
struct Finding {
  DeliveryId delivery{};
  Code code = Code::unknown_internal;
  std::string text{};
  WallTime since{};
};

/// Those of one owner. Beyond the bound they are only logged.
class Findings {
 public:
  static constexpr std::size_t kept_max = 1000;

  void add(const DeliveryId& delivery, Code code, std::string text, WallTime now) {
    const auto known = findings_.find(delivery);
    if (known == findings_.end() && findings_.size() >= kept_max) return;
    const auto since = known == findings_.end() ? now : known->second.since;
    findings_.insert_or_assign(delivery, Finding{delivery, code, std::move(text), since});
  }
  void remove(const DeliveryId& delivery) { findings_.erase(delivery); }
  [[nodiscard]] std::size_t count() const noexcept { return findings_.size(); }
  [[nodiscard]] std::vector<Finding> list(std::size_t rows_max) const {
    std::vector<Finding> list;
    for (const auto& [delivery, finding] : findings_) {
      if (list.size() == rows_max) break;
      list.push_back(finding);
    }
    return list;
  }

 private:
  std::map<DeliveryId, Finding> findings_;
};

}  // namespace sagabox::delivery
