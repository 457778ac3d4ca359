#pragma once

#include <sagabox/admin.hpp>
#include <sagabox/records.hpp>
#include <sagabox/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// Checks what operators may request. All are pure; errors name the field and say what would be
/// right.
namespace sagabox::admin {

/// SCHEMA.VALIDATION_FAILED.
Error wrong(std::string message);

/// 1 to `length_max` printable characters.
Status check_text(std::string_view field, std::string_view text, std::size_t length_max);
Status check_rows(std::string_view field, std::uint32_t rows, std::uint32_t rows_max);
/// Every given text must be valid, and no range may be empty.
Status check_filter(const MessageFilter& filter);
/// Also for a replay from `from`.
Status check_replay(MessageState from, const MessageFilter& filter);

/// CONFIG.INVALID names the option that is wrong.
Status check_options(const AdminOptions& options);
/// The tenant whose records are requested; AUTH.DENIED if bound to another.
Result<Admin::Whose> limited(const AdminOptions& options, const Admin::Whose& tenant);
/// AUTH.DENIED if bound to a tenant, because `act` would affect others.
Status everybodys(const AdminOptions& options, std::string_view act);

}  // namespace sagabox::admin
