#pragma once

#include <sagabox/error.hpp>
#include <sagabox/saga_record.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::saga {

/// A saga that does not go on, and why: what an operator has to know.
struct Finding {
  SagaId saga{};
  Code code = Code::unknown_internal;
  std::string text{};
  WallTime since{};
};

/// Those of one owner. Beyond the bound they are only counted.
class Findings {
 public:
  static constexpr std::size_t kept_max = 1000;

  void add(const SagaId& saga, Code code, std::string text, WallTime now) {
    if (auto at = findings_.find(saga); at != findings_.end()) {
      at->second.code = code;
      at->second.text = std::move(text);
      return;
    }
    if (findings_.size() < kept_max) findings_.emplace(saga, Finding{saga, code, text, now});
  }
  void remove(const SagaId& saga) { findings_.erase(saga); }
  void clear() { findings_.clear(); }
  [[nodiscard]] std::size_t count() const noexcept { return findings_.size(); }
  [[nodiscard]] std::vector<Finding> list(std::size_t rows_max) const {
    std::vector<Finding> list;
    for (const auto& [saga, finding] : findings_) {
      if (list.size() == rows_max) break;
      list.push_back(finding);
    }
    return list;
  }

 private:
  std::map<SagaId, Finding> findings_;
};

}  // namespace sagabox::saga
