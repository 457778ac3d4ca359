#include "bench/baselines/postgres/requests.hpp"

#include <stdexcept>

namespace sagabox::bench::by_hand {

RequestClient::RequestClient(const std::string& url) : link_(url) {
  link_.prepare("check", R"sql(
INSERT INTO sagabox.idempotency (
  tenant, consumer, key, request_hash, ticket, created_at, changed_at, lease_until, expires_at)
VALUES ('default', 'bench', $1::text, sha256(convert_to($1::text, 'UTF8')), $2::int8,
        now(), now(), now() + interval '15 s', now() + interval '1 day')
ON CONFLICT DO NOTHING
RETURNING ticket
)sql");
  link_.prepare("finish", R"sql(
UPDATE sagabox.idempotency
SET state = 'succeeded', changed_at = now(), result = convert_to($3::text, 'UTF8'),
    result_digest = sha256(convert_to($3::text, 'UTF8'))
WHERE tenant = 'default' AND consumer = 'bench' AND key = $1::text AND ticket = $2::int8
)sql");
}

void RequestClient::run(const std::string& key, std::int64_t ticket) {
  const auto taken = link_.call("check", Values().text(key).int8(ticket));
  if (PQntuples(taken.get()) != 1) throw std::runtime_error("a key came twice");
  const auto done = link_.call("finish", Values().text(key).int8(ticket).text("done"));
  if (rows_changed(done.get()) != 1) throw std::runtime_error("a request was not finished");
}

}  // namespace sagabox::bench::by_hand
