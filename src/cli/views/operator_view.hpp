#pragma once

#include "cli/terminal.hpp"

#include <sagabox/records.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What an operator reads, as lines. Pure: whoever shows them has asked the store.
namespace sagabox::cli {

/// "d dead letters  r replay them  p pause  q quit"
Line keys_line(bool paused);

/// A heading, a line for each of `oldest`, and how many more of the `dead` there are.
std::vector<Line> dead_letter_view(std::span<const MessageRecord> oldest, std::uint64_t dead,
                                   WallTime now);

/// "██████████████░░░░░░"
std::string progress_bar(std::uint64_t part, std::uint64_t whole);

/// "replay job 7  ██████████████░░░░░░  2/3  50/s"; how it ended once it has.
Line replay_bar(const ReplayJob& job);

/// At most `columns_max` characters, the last of them … if it was cut. What is not printable is
/// shown as ?.
std::string shortened(std::string_view text, std::size_t columns_max);

}  // namespace sagabox::cli
