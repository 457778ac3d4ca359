#pragma once

#include "core/json_quote.hpp"
#include "saga/instance.hpp"
#include "saga/template.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sagabox::saga {

/// What templates may say of the saga itself, as JSON.
class OwnTexts {
 public:
  explicit OwnTexts(const Instance& saga) {
    append_json_string(id_, saga.id.view());
    append_json_string(key_, saga.key);
    append_json_string(tenant_, saga.tenant);
  }
  /// Nullopt: the reference is to something else.
  [[nodiscard]] std::optional<std::string_view> find(const Reference& reference) const {
    switch (reference.root) {
      case Reference::Root::saga_id:
        return id_;
      case Reference::Root::saga_key:
        return key_;
      case Reference::Root::saga_tenant:
        return tenant_;
      default:
        return std::nullopt;
    }
  }

 private:
  std::string id_;
  std::string key_;
  std::string tenant_;
};

}  // namespace sagabox::saga
