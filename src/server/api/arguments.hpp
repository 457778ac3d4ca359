#pragma once

#include "server/api/query.hpp"
#include "server/http/request.hpp"
#include "wire/fields.hpp"

#include <sagabox/idempotency_http.hpp>
#include <sagabox/message.hpp>

#include <string>
#include <string_view>

/// Arguments that several operations read from paths and bodies.
namespace sagabox::server {

using wire::Fields;

/// For an act that the path describes completely: the body must be empty, or an object without
/// fields.
Status no_fields(std::string_view body);
/// The body may be omitted if no field is required.
Result<Fields> fields_of(const Request& request);

Result<MessageId> id_from(std::string_view text);

/// The trace context of the headers, if valid: wrong tracing headers of a caller must not fail its
/// writes.
TraceContext trace_of(const Request& request);
/// The same id whenever this request is repeated, so that a message written before a crash is not
/// written twice. `where`: its position among several.
std::string id_of_request(const HttpIdempotency::Pass& pass, const std::string& where);
/// The request's `Idempotency-Key`, without optional quotes. Empty if it has none.
Result<std::string> idempotency_key_of(const Request& request);

}  // namespace sagabox::server
