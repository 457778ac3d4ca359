#pragma once

#include <sagabox/error.hpp>
#include <sagabox/id.hpp>
#include <sagabox/records.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Ids are unique among the pending messages of a tenant only: several rows may have the id that an
/// operator names.
namespace sagabox {

struct RowOfId {
  std::string tenant{};
  MessageState state = MessageState::pending;
  Sequence sequence{};
};

struct ChosenRow {
  std::optional<std::size_t> row{};    ///< nullopt: no row matches, or `tenants` is not empty
  std::vector<std::string> tenants{};  ///< set if several have the id and none was given; by name
};

/// Selects one of the rows with the same id: of the tenant, pending before dead or quarantined
/// before done, and of these the newest. With `state` or `sequence`, other rows are ignored.
[[nodiscard]] ChosenRow choose_row(std::span<const RowOfId> rows,
                                   const std::optional<std::string>& tenant,
                                   const std::optional<MessageState>& state = {},
                                   const std::optional<Sequence>& sequence = {});

/// "exists for several tenants (a, b); say which with --tenant, or with tenant= in a request".
[[nodiscard]] std::string several_tenants_text(std::span<const std::string> tenants);
[[nodiscard]] Error several_tenants(const MessageId& id, std::span<const std::string> tenants);

}  // namespace sagabox
