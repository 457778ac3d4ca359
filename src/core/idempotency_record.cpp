#include "core/text.hpp"

#include <sagabox/idempotency_record.hpp>

#include <algorithm>
#include <array>

namespace sagabox {
namespace {

constexpr std::array<std::string_view, idempotency_state_count> idempotency_state_names{
    "in_flight", "succeeded", "failed", "released"};

Status check_part(std::string_view field, const std::string& text, std::size_t length_max) {
  const auto problem = name_problem(text, length_max);
  if (problem.empty()) return {};
  return Error{Code::schema_validation_failed, std::string(field) + ": " + problem};
}

}  // namespace

Status IdempotencyKey::check() const {
  if (auto ok = check_part("tenant", tenant, tenant_length_max); !ok.ok()) return ok;
  if (auto ok = check_part("consumer", consumer, consumer_length_max); !ok.ok()) return ok;
  return check_part("key", key, key_length_max);
}

std::string_view idempotency_state_name(IdempotencyState state) noexcept {
  return idempotency_state_names[static_cast<std::size_t>(state)];
}

std::optional<IdempotencyState> idempotency_state_from_name(std::string_view name) noexcept {
  const auto found = std::ranges::find(idempotency_state_names, name);
  if (found == idempotency_state_names.end()) return std::nullopt;
  return static_cast<IdempotencyState>(found - idempotency_state_names.begin());
}

}  // namespace sagabox
