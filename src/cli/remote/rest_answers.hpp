#pragma once

#include "cli/operations.hpp"
#include "cli/remote/http_client.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a daemon answers, as docs/rest.md and its OpenAPI document have it, read into records.
/// Fields that are not known are let be; an error names the field that is missing or wrong. Pure.
namespace sagabox::cli::answers {

struct ServedStore {
  std::string name{};
  bool current = false;
  std::vector<TableName> tables{};
};

/// Keys that are bound to a tenant are told the time only.
struct Table {
  WallTime now{};
  std::optional<spi::TableStats> stats{};
  std::optional<Sequence> last_sequence{};
  admin::RefusedFacts refused{};  ///< as the daemon that was asked knows
};

struct PurgedPart {
  std::uint64_t rows = 0;
  bool more = false;
};

Result<std::vector<ServedStore>> stores(std::string_view body);
Result<Table> table(std::string_view body);
Result<Owners> owners(std::string_view body);
Result<MessagePage> page(std::string_view body);
/// With its payload where the answer has it.
Result<MessageRecord> message(std::string_view body);
Result<Explanation> explanation(std::string_view body);
Result<BlockedKeyPage> blocked_keys(std::string_view body);
Result<std::vector<spi::Stray>> strays(std::string_view body);
Result<std::vector<Pause>> pauses(std::string_view body);
Result<std::vector<spi::Finding>> findings(std::string_view body);
Result<std::vector<DestinationState>> destinations(std::string_view body);
/// What keeps tables from being ready; none: they are.
Result<std::vector<spi::Finding>> readiness(std::string_view body);
Result<std::uint64_t> count(std::string_view body);
Result<Written> written(std::string_view body);
Result<std::vector<Moved>> moved(std::string_view body);
/// Whether it has changed anything.
Result<bool> pause_change(std::string_view body);
Result<PurgedPart> purged(std::string_view body);
Result<ReplayPreview> preview(std::string_view body);
Result<ReplayJob> job(std::string_view body);
Result<std::vector<ReplayJob>> jobs(std::string_view body);
Result<AuditReport> audit_report(std::string_view body);

/// The error that application/problem+json tells of; nothing where it is none of ours.
std::optional<Error> problem(std::string_view body);

}  // namespace sagabox::cli::answers
