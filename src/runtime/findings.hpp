#pragma once

#include <sagabox/error.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::runtime {

/// An item that is stuck at its owner, and the reason, for operators.
template <class IdType>
struct Finding {
  IdType id{};
  Code code = Code::unknown_internal;
  std::string text{};
  WallTime since{};  ///< when it was first found
};

/// Those of one owner. More than the bound are not kept.
template <class IdType>
class Findings {
 public:
  static constexpr std::size_t kept_max = 1000;

  /// Returns whether it is kept and was not known, or was found for another reason.
  bool add(const IdType& id, Code code, std::string text, WallTime now) {
    const auto known = findings_.find(id);
    if (known == findings_.end() && findings_.size() >= kept_max) return false;
    const bool is_new = known == findings_.end() || known->second.text != text;
    const auto since = known == findings_.end() ? now : known->second.since;
    findings_.insert_or_assign(id, Finding<IdType>{id, code, std::move(text), since});
    return is_new;
  }
  void remove(const IdType& id) { findings_.erase(id); }
  [[nodiscard]] std::size_t count() const noexcept { return findings_.size(); }
  /// Ordered by id.
  [[nodiscard]] std::vector<Finding<IdType>> list(std::size_t rows_max) const {
    std::vector<Finding<IdType>> list;
    for (const auto& [id, finding] : findings_) {
      if (list.size() == rows_max) break;
      list.push_back(finding);
    }
    return list;
  }

 private:
  std::map<IdType, Finding<IdType>> findings_;
};

}  // namespace sagabox::runtime
