#pragma once

#include <sagabox/error.hpp>
#include <sagabox/id.hpp>
#include <sagabox/records.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Ids are unique among the pending messages of a tenant, and nowhere else: what an operator names
/// by its id may be several rows.
namespace sagabox {

struct RowOfId {
  std::string tenant{};
  MessageState state = MessageState::pending;
  Sequence sequence{};
};

struct ChosenRow {
  std::optional<std::size_t> row{};    ///< nothing: no row fits, or it is not clear whose is meant
  std::vector<std::string> tenants{};  ///< several have the id and none was named; by name
};

/// Which of the rows that have one id is meant: the tenant's, pending before dead or quarantined
/// before done, and of these the newest. With `state` or `sequence`, other rows are ignored.
[[nodiscard]] ChosenRow choose_row(std::span<const RowOfId> rows,
                                   const std::optional<std::string>& tenant,
                                   const std::optional<MessageState>& state = {},
                                   const std::optional<Sequence>& sequence = {});

/// "exists for several tenants (a, b); say which with --tenant, or with tenant= in a request".
[[nodiscard]] std::string several_tenants_text(std::span<const std::string> tenants);
[[nodiscard]] Error several_tenants(const MessageId& id, std::span<const std::string> tenants);

}  // namespace sagabox
