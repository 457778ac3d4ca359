#pragma once

#include "cli/operations.hpp"
#include "cli/terminal.hpp"

#include <map>
#include <span>
#include <vector>

/// Messages, jobs and owners for people. Pure.
namespace sagabox::cli {

/// "ID  SEQ  TOPIC  KEY  TRIES  AGE  WHY", of messages of one state or of several.
std::vector<Line> message_list(std::span<const MessageRecord> messages, WallTime now);
/// One message with its history; the payload when the record has it.
std::vector<Line> message_details(const MessageRecord& record, WallTime now);
/// "retry in 5s: TX.TIMEOUT no answer", what holds it or ended it.
std::string why_text(const MessageRecord& record, WallTime now);

std::vector<Line> job_list(std::span<const ReplayJob> jobs, WallTime now);
std::vector<Line> job_details(const ReplayJob& job, WallTime now);
/// "dead, topic a.b, code TX.TIMEOUT, seq 7 to 9"
std::string selection_text(MessageState from, const MessageFilter& filter);

/// What became of messages that were named.
std::vector<Line> moved_list(std::span<const Moved> moved);

/// The workers of a table, then its shards.
std::vector<Line> owners_view(const TableName& table, const Owners& owners);
/// How many each has whose lease runs.
std::map<WorkerId, std::uint64_t> shards_by_owner(std::span<const spi::ShardOwner> shards);
/// "relay-a 8 shards, relay-b 8 shards", or "nobody".
std::string owners_text(std::span<const spi::ShardOwner> shards);

/// "error  what" and "       cure" below it.
std::vector<Line> finding_lines(const spi::Finding& finding, const std::string& where);

}  // namespace sagabox::cli
