#include "stores/postgres/operate/hub_grants.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace sagabox::postgres {
namespace {

// To see that the tables are there, and how many shards they were made for.
constexpr std::string_view everyone = R"sql(GRANT USAGE ON SCHEMA "{schema}" TO {user};
GRANT SELECT ON "{schema}".migration, "{schema}".hub_migration, "{schema}".hub_setting TO {user};
)sql";

// To be woken.
constexpr std::string_view sleeper =
    R"sql(GRANT SELECT ON "{schema}".shard_owner TO {user};
GRANT EXECUTE ON FUNCTION "{schema}".take_sleeper(),
  "{schema}".set_asleep(regclass, integer, boolean) TO {user};
GRANT SELECT, UPDATE ON SEQUENCE "{schema}".{flags} TO {user};
)sql";

// To own shards.
constexpr std::string_view owner =
    R"sql(GRANT SELECT, INSERT, UPDATE, DELETE ON "{schema}".worker, "{schema}".member TO {user};
GRANT SELECT, INSERT, UPDATE ON "{schema}".scope, "{schema}".shard_owner TO {user};
)sql";

// To write down who did it.
constexpr std::string_view auditor =
    R"sql(GRANT SELECT, INSERT ON "{schema}".audit_log TO {user};
GRANT SELECT, UPDATE ON "{schema}".audit_head TO {user};
)sql";

constexpr std::string_view ingest = R"sql(-- Publishes events, by the library or from SQL.
GRANT INSERT (id, tenant, source, external_id, type, key, is_json, digest, aggregate_type,
              aggregate_id, priority, content_type, headers, occurred_at, traceparent, tracestate,
              request_id, correlation_id, payload),
      SELECT (id, tenant, source, external_id, type, digest) ON "{schema}".hub_event TO {user};
GRANT EXECUTE ON FUNCTION "{schema}".hub_unpublish(text[]) TO {user};
DO $$ BEGIN
  EXECUTE (SELECT string_agg(format('GRANT EXECUTE ON FUNCTION %s TO %s', p.oid::regprocedure,
                                    {user_text}), ';')
           FROM pg_proc AS p
           WHERE p.pronamespace = '"{schema}"'::regnamespace AND p.proname = 'publish_event');
END $$;
)sql";

constexpr std::string_view router = R"sql(-- Reads events and subscriptions, inserts deliveries.
GRANT SELECT ON "{schema}".hub_event, "{schema}".hub_subscription TO {user};
GRANT SELECT, INSERT, UPDATE (position) ON "{schema}".hub_position TO {user};
GRANT INSERT (id, event, subscription, generation, tenant, type, key, shard, correlation_id,
              next_attempt_at, created_at),
      SELECT (id) ON "{schema}".hub_delivery TO {user};
)sql";

constexpr std::string_view orchestrator = R"sql(-- Changes deliveries, makes jobs, keeps the dead.
GRANT SELECT ON "{schema}".hub_event TO {user};
GRANT SELECT, UPDATE (state, attempt, failures, next_attempt_at, ended_at, code, error, status)
  ON "{schema}".hub_delivery TO {user};
GRANT SELECT, INSERT (delivery, attempt, shard, subscription, attempt_at), UPDATE (seen)
  ON "{schema}".hub_job TO {user};
GRANT SELECT, INSERT ON "{schema}".hub_dead TO {user};
GRANT SELECT, UPDATE (state, reason, version, change, changed_at)
  ON "{schema}".hub_subscription TO {user};
GRANT SELECT, UPDATE (change) ON "{schema}".hub_counter TO {user};
)sql";

constexpr std::string_view worker =
    R"sql(-- Leases jobs and writes their results; cleans up leases that ran out.
GRANT SELECT ON "{schema}".hub_event, "{schema}".hub_delivery, "{schema}".hub_subscription,
  "{schema}".hub_secret TO {user};
GRANT SELECT, UPDATE (state, resets, worker, token, lease_until, ended_at, code, error, status,
                      answer, retry_after, took) ON "{schema}".hub_job TO {user};
)sql";

constexpr std::string_view operator_of_dead =
    R"sql(-- Looks at everything but secrets, and sends dead deliveries once more.
GRANT SELECT ON "{schema}".hub_event, "{schema}".hub_position, "{schema}".hub_subscription,
  "{schema}".hub_delivery, "{schema}".hub_dead, "{schema}".hub_job, "{schema}".audit_log,
  "{schema}".audit_head TO {user};
GRANT EXECUTE ON FUNCTION "{schema}".requeue(text, text),
  "{schema}".requeue(text[], text, text[], text[]) TO {user};
)sql";

constexpr std::string_view admin = R"sql(-- Writes subscriptions and their secrets.
GRANT SELECT, INSERT, UPDATE ON "{schema}".hub_subscription, "{schema}".hub_secret TO {user};
GRANT SELECT, UPDATE (change) ON "{schema}".hub_counter TO {user};
)sql";

struct RoleGrants {
  std::string_view role;
  std::string_view own;
  std::string_view flags{};  ///< of the feed that it waits for
  bool owns = false;
  bool audits = false;
};

constexpr std::array all_roles{
    RoleGrants{.role = "ingest", .own = ingest},
    RoleGrants{
        .role = "router", .own = router, .flags = "hub_events_flags", .owns = true, .audits = true},
    RoleGrants{.role = "orchestrator",
               .own = orchestrator,
               .flags = "hub_deliveries_flags",
               .owns = true,
               .audits = true},
    RoleGrants{.role = "worker", .own = worker, .flags = "hub_jobs_flags"},
    RoleGrants{.role = "operator", .own = operator_of_dead},
    RoleGrants{.role = "admin", .own = admin, .audits = true},
};
static_assert(all_roles.size() == spi::hub_roles.size());

std::string doubled(std::string_view name, char quote) {
  const std::string whole(name);
  return quote + replaced(whole, std::string(1, quote), std::string(2, quote)) + quote;
}

}  // namespace

Result<std::string> hub_grants(const Names& names, const spi::HubGrants& request) {
  const auto found = std::ranges::find(all_roles, request.role, &RoleGrants::role);
  if (found == all_roles.end()) {
    std::string known;
    for (const auto& one : all_roles) known += (known.empty() ? "" : ", ") + std::string(one.role);
    return Error{Code::config_invalid,
                 "the hub has no role \"" + request.role + "\"; it has " + known};
  }
  constexpr std::size_t name_bytes_max = 63;
  const auto user = request.user.empty() ? "sagabox_" + request.role : request.user;
  const bool usable = std::ranges::none_of(
      user, [](unsigned char c) { return c < ' ' || c == '\x7f' || c == '{'; });
  if (user.size() > name_bytes_max || !usable) {
    return Error{Code::config_invalid,
                 "user: give 1 to 63 bytes without control characters and braces"};
  }
  std::string text(found->own);
  text += everyone;
  if (!found->flags.empty()) text += replaced(std::string(sleeper), "{flags}", found->flags);
  if (found->owns) text += owner;
  if (found->audits) text += auditor;
  text = replaced(names.fill(text), "{user_text}", doubled(doubled(user, '"'), '\''));
  return replaced(text, "{user}", doubled(user, '"'));
}

}  // namespace sagabox::postgres
