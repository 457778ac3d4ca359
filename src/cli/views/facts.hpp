#pragma once

#include "admin/doctor.hpp"
#include "cli/operations.hpp"

namespace sagabox::cli {

/// All facts except strays, which need a scan. Throws Failure.
admin::TableFacts facts_of(Operations& operations, const TableName& table);

}  // namespace sagabox::cli
