#pragma once

#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>

namespace sagabox::postgres {

/// The server's statistics of a table.
struct RowCounts {
  std::int64_t live = 0;
  std::int64_t dead = 0;
  std::int64_t written = 0;  ///< since the statistics began
  std::int64_t left = 0;     ///< since the statistics began
};

/// Whether the pages that a vacuum frees are needed. `before` has the counts of some time ago,
/// provided the table was busy since. True if nearly all rows are dead; if more are pending, true
/// only if about as many rows came as went: a backlog that is being emptied needs no new pages, and
/// the processor is better used for delivery.
bool needs_vacuum(const RowCounts& now, const std::optional<RowCounts>& before);

/// How long to wait after a vacuum that found `dead` rows, left `dead_after`, and took `took`. A
/// vacuum that frees rows costs the same for each row however often it runs, and may take a third
/// of the time; one that frees little, because a snapshot is held open, a tenth, or it rests for
/// two minutes.
Duration rest_after_vacuum(std::int64_t dead, std::int64_t dead_after, Duration took);

}  // namespace sagabox::postgres
