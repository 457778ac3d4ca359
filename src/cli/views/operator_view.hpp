#pragma once

#include "cli/terminal.hpp"

#include <sagabox/records.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The operator's views as lines. Pure: the caller has queried the store.
namespace sagabox::cli {

/// "d dead letters  r replay them  p pause  q quit"
Line keys_line(bool paused);

/// A heading, a line for each of `oldest`, and how many more of the `dead` there are.
std::vector<Line> dead_letter_view(std::span<const MessageRecord> oldest, std::uint64_t dead,
                                   WallTime now);

/// "██████████████░░░░░░"
std::string progress_bar(std::uint64_t part, std::uint64_t whole);

/// "replay job 7  ██████████████░░░░░░  2/3  50/s"; its final state once it has ended.
Line replay_bar(const ReplayJob& job);

/// At most `columns_max` characters, the last of which is … if it was cut. Unprintable characters
/// are shown as ?.
std::string shortened(std::string_view text, std::size_t columns_max);

}  // namespace sagabox::cli
