#include "core/same_id.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <tuple>

namespace sagabox {
namespace {

constexpr std::size_t tenants_shown_max = 5;

int rank(MessageState state) {
  if (state == MessageState::pending) return 2;
  return state == MessageState::done ? 0 : 1;
}

bool is_meant_before(const RowOfId& a, const RowOfId& b) {
  return std::tuple(rank(a.state), a.sequence) > std::tuple(rank(b.state), b.sequence);
}

}  // namespace

ChosenRow choose_row(std::span<const RowOfId> rows, const std::optional<std::string>& tenant,
                     const std::optional<MessageState>& state,
                     const std::optional<Sequence>& sequence) {
  ChosenRow chosen;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (tenant && rows[at].tenant != *tenant) continue;
    if (state && rows[at].state != *state) continue;
    if (sequence && rows[at].sequence != *sequence) continue;
    if (std::ranges::find(chosen.tenants, rows[at].tenant) == chosen.tenants.end()) {
      chosen.tenants.push_back(rows[at].tenant);
    }
    if (!chosen.row || is_meant_before(rows[at], rows[*chosen.row])) chosen.row = at;
  }
  if (chosen.tenants.size() <= 1) {
    chosen.tenants.clear();
    return chosen;
  }
  std::ranges::sort(chosen.tenants);
  chosen.row.reset();
  return chosen;
}

std::string several_tenants_text(std::span<const std::string> tenants) {
  std::string names;
  for (std::size_t at = 0; at < std::min(tenants.size(), tenants_shown_max); ++at) {
    names += (at == 0 ? "" : ", ") + quoted(tenants[at]);
  }
  if (tenants.size() > tenants_shown_max) names += " …";
  return "exists for several tenants (" + names +
         "); say which with --tenant, or with tenant= in a request";
}

Error several_tenants(const MessageId& id, std::span<const std::string> tenants) {
  return {Code::request_invalid, "id " + quoted(id.view()) + " " + several_tenants_text(tenants)};
}

}  // namespace sagabox
