#pragma once

#include <sagabox/admin.hpp>
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

/// CONFIG.INVALID names the option that is wrong.
Status check_options(const AdminOptions& options);
/// The tenant whose records are meant; AUTH.DENIED when bound to another.
Result<Admin::Whose> limited(const AdminOptions& options, const Admin::Whose& tenant);
/// AUTH.DENIED when bound to a tenant: `act` would touch others.
Status everybodys(const AdminOptions& options, std::string_view act);

}  // namespace sagabox::admin
