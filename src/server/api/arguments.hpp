#pragma once

#include "server/api/query.hpp"
#include "wire/fields.hpp"

#include <sagabox/records.hpp>

#include <string_view>
#include <vector>

/// What several operations are asked for in their paths and bodies.
namespace sagabox::server {

using wire::Fields;

/// Of an act whose path says all: the body is left out, or an object without fields.
Status no_fields(std::string_view body);

Result<MessageId> id_from(std::string_view text);
/// Of the field `ids`. Every other field must have been asked for before.
Result<std::vector<MessageId>> ids_from(Fields& fields);
/// Which row each id stands for; empty when it is left out. Ask before `ids_from`, which reports
/// what is wrong.
std::vector<Sequence> sequences_from(Fields& fields);

}  // namespace sagabox::server
