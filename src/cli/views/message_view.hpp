#pragma once

#include "cli/operations.hpp"
#include "cli/terminal.hpp"

#include <map>
#include <span>
#include <vector>

/// Messages, jobs and owners as readable text. Pure.
namespace sagabox::cli {

/// "ID  SEQ  TOPIC  KEY  TRIES  AGE  WHY", for messages of one state or of several.
std::vector<Line> message_list(std::span<const MessageRecord> messages, WallTime now);
/// One message with its history, and the payload if the record has it.
std::vector<Line> message_details(const MessageRecord& record, WallTime now);
/// "retry in 5s: TX.TIMEOUT no answer": why it is not delivered.
std::string why_text(const MessageRecord& record, WallTime now);

std::vector<Line> job_list(std::span<const ReplayJob> jobs, WallTime now);
std::vector<Line> job_details(const ReplayJob& job, WallTime now);
/// "dead, topic a.b, code TX.TIMEOUT, seq 7 to 9"
std::string selection_text(MessageState from, const MessageFilter& filter);

/// The results for named messages.
std::vector<Line> moved_list(std::span<const Moved> moved);

/// The workers of a table, then its shards.
std::vector<Line> owners_view(const TableName& table, const Owners& owners);
/// The number of shards of each owner whose lease is valid.
std::map<WorkerId, std::uint64_t> shards_by_owner(std::span<const spi::ShardOwner> shards);
/// "relay-a 8 shards, relay-b 8 shards", or "nobody".
std::string owners_text(std::span<const spi::ShardOwner> shards);

/// "error  what" and "       cure" below it.
std::vector<Line> finding_lines(const spi::Finding& finding, const std::string& where);

}  // namespace sagabox::cli
