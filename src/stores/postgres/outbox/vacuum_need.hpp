#pragma once

#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>

namespace sagabox::postgres {

/// What the server has counted of the rows of a table.
struct RowCounts {
  std::int64_t live = 0;
  std::int64_t dead = 0;
  std::int64_t written = 0;  ///< ever
  std::int64_t left = 0;     ///< ever
};

/// Whether somebody asks for the pages that a vacuum frees. `before` is what was counted a while
/// ago, as long as it has been busy since. Where nearly all rows are dead, always; where more are
/// pending, only if about as many came as went: a backlog that is being emptied needs no new pages,
/// and has better use for the processor.
bool needs_vacuum(const RowCounts& now, const std::optional<RowCounts>& before);

/// How long to leave a table alone after a vacuum that found `dead` rows, left `dead_after`, and
/// took `took`. One that frees costs the same for each row however often it runs, and is a third
/// of the time at most; one that frees little, since somebody holds a snapshot open, a tenth, or
/// rests for two minutes.
Duration rest_after_vacuum(std::int64_t dead, std::int64_t dead_after, Duration took);

}  // namespace sagabox::postgres
