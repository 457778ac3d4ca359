#include "cli/exit_codes.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/views/idempotency_view.hpp"
#include "cli/views/view_json.hpp"

#include <fmt/format.h>

#include <utility>

namespace sagabox::cli {
namespace {

IdempotencyKey key_of(const IdempotencyArguments& arguments) {
  return {.tenant = arguments.query.tenant.value_or(std::string(tenant_default)),
          .consumer = arguments.consumer,
          .key = arguments.key};
}

IdempotencyRecord found(Session& session, const IdempotencyKey& key) {
  auto record = session.operations().idempotency_record(key).value();
  if (record) return *std::move(record);
  throw Failure({Code::request_not_found,
                 fmt::format("consumer {} has no key {} of tenant {}; sagabox idempotency list "
                             "shows those that are known",
                             key.consumer, key.key, key.tenant)});
}

int purge_expired(Session& session) {
  const auto purged = session.operations().purge_idempotency().value();
  session.out().print(session.json() ? idempotency_purged_json(purged)
                                     : fmt::format("{} expired {} removed", grouped(purged),
                                                   purged == 1 ? "key" : "keys"));
  return exit_fine;
}

}  // namespace

int run_idempotency_list(const IdempotencyArguments& arguments) {
  Session session(arguments);
  const auto page = session.operations().idempotency(arguments.query).value();
  if (session.json()) {
    session.out().print(idempotency_page_json(page));
    return exit_fine;
  }
  session.print(idempotency_list(page.rows));
  if (!page.next.empty()) {
    session.out().print(Line().add("more: --after " + page.next, Style::faint));
  }
  return exit_fine;
}

int run_idempotency_show(const IdempotencyArguments& arguments) {
  Session session(arguments);
  const auto record = found(session, key_of(arguments));
  if (session.json()) {
    session.out().print(idempotency_json(record));
  } else {
    session.print(idempotency_view(record));
  }
  return exit_fine;
}

int run_idempotency_purge(const IdempotencyArguments& arguments) {
  const bool named = !arguments.consumer.empty() || !arguments.key.empty();
  if (named == arguments.expired) {
    throw WrongUse(
        "which keys? name a consumer and its key, or say --expired for all whose time is over");
  }
  if (arguments.expired && (arguments.act.dry_run || arguments.query.tenant)) {
    throw WrongUse(
        "--expired removes what does not count any more, of all tenants: leave --dry-run and "
        "--tenant out");
  }
  if (named && arguments.key.empty()) {
    throw WrongUse("which key of " + arguments.consumer + "? name it behind the consumer");
  }
  Session session(arguments);
  if (arguments.expired) return purge_expired(session);
  const auto key = key_of(arguments);
  const auto record = found(session, key);
  if (!session.json()) session.print(idempotency_view(record));
  if (arguments.act.dry_run) {
    session.out().print(session.json()
                            ? idempotency_json(record)
                            : "would be forgotten: the same request would be done again");
    return exit_fine;
  }
  if (!confirmed("Forget this key, so that the same request is done again?", arguments.act.yes)) {
    return nothing_done();
  }
  const bool removed = session.operations().forget_idempotency(key, arguments.note).value();
  session.out().print(session.json() ? idempotency_purged_json(removed ? 1 : 0)
                      : removed      ? std::string("forgotten")
                                     : std::string("it was gone already"));
  return exit_fine;
}

}  // namespace sagabox::cli
