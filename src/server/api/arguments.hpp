#pragma once

#include "server/api/query.hpp"
#include "server/http/request.hpp"
#include "wire/fields.hpp"

#include <sagabox/idempotency_http.hpp>
#include <sagabox/message.hpp>

#include <string>
#include <string_view>

/// What several operations are asked for in their paths and bodies.
namespace sagabox::server {

using wire::Fields;

/// Of an act whose path says all: the body is left out, or an object without fields.
Status no_fields(std::string_view body);
/// The body may be left out where nothing must be said.
Result<Fields> fields_of(const Request& request);

Result<MessageId> id_from(std::string_view text);

/// What the request's headers say, where they make sense: a caller's tracing must not fail its
/// writes.
TraceContext trace_of(const Request& request);
/// The same whenever this request is run: one that was written before a crash is not written twice.
/// `where`: its place among several.
std::string id_of_request(const HttpIdempotency::Pass& pass, const std::string& where);
/// Of the request's `Idempotency-Key`: without the quotes that it may have. Empty: it has none.
Result<std::string> idempotency_key_of(const Request& request);

}  // namespace sagabox::server
