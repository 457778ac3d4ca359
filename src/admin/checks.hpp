#pragma once

#include <sagabox/records.hpp>
#include <sagabox/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// What operators may ask for. All pure; errors name the field and say what would be right.
namespace sagabox::admin {

/// SCHEMA.VALIDATION_FAILED.
Error wrong(std::string message);

/// 1 to `length_max` printable characters.
Status check_text(std::string_view field, std::string_view text, std::size_t length_max);
Status check_rows(std::string_view field, std::uint32_t rows, std::uint32_t rows_max);
/// Every text given is one, and every range holds something.
Status check_filter(const MessageFilter& filter);
/// Also for a replay from `from`.
Status check_replay(MessageState from, const MessageFilter& filter);

}  // namespace sagabox::admin
