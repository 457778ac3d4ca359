#pragma once

#include "wire/fields.hpp"
#include "wire/put.hpp"

#include <sagabox/admin.hpp>

#include <span>
#include <vector>

/// Replay jobs as JSON, written and read here.
namespace sagabox::wire {

void put_members(JsonOut& json, const ReplayJob& job);
void put_members(JsonOut& json, std::span<const ReplayJob> jobs);
ReplayJob read_job(Fields& fields);
std::vector<ReplayJob> read_jobs(Fields& fields);

void put_members(JsonOut& json, const TableName& table, const ReplayPreview& preview);
ReplayPreview read_preview(Fields& fields);

}  // namespace sagabox::wire
