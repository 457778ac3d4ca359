#include "admin/checks.hpp"

#include "core/text.hpp"

#include <array>
#include <utility>

namespace sagabox::admin {
namespace {

struct GivenText {
  std::string_view field;
  const std::optional<std::string>& text;
  std::size_t length_max;
};

/// Turns the error into one of an option.
Status option(const Status& status) {
  if (status.ok()) return {};
  return Error{Code::config_invalid, status.error().message};
}

}  // namespace

Error wrong(std::string message) { return {Code::request_invalid, std::move(message)}; }

Status check_text(std::string_view field, std::string_view text, std::size_t length_max) {
  const std::string right = "give 1 to " + std::to_string(length_max) + " printable characters";
  if (text.empty()) return wrong(std::string(field) + ": empty; " + right);
  const TextFacts facts = text_facts(text);
  if (facts.unprintable_at != std::string_view::npos) {
    return wrong(std::string(field) + ": byte " + std::to_string(facts.unprintable_at + 1) +
                 " is not printable UTF-8; " + right);
  }
  if (facts.characters > length_max) {
    return wrong(std::string(field) + ": " + std::to_string(facts.characters) + " characters; " +
                 right);
  }
  return {};
}

Status check_rows(std::string_view field, std::uint32_t rows, std::uint32_t rows_max) {
  if (rows >= 1 && rows <= rows_max) return {};
  return wrong(std::string(field) + ": " + std::to_string(rows) + "; give 1 to " +
               std::to_string(rows_max));
}

Status check_filter(const MessageFilter& filter) {
  const std::array<GivenText, 4> texts{
      {{"filter tenant", filter.tenant, MessageRules::tenant_length_max},
       {"filter topic", filter.topic, MessageRules::topic_length_max},
       {"filter aggregate type", filter.aggregate_type, MessageRules::aggregate_type_length_max},
       {"filter key", filter.key, MessageRules::key_length_max}}};
  for (const auto& given : texts) {
    if (!given.text) continue;
    if (auto status = check_text(given.field, *given.text, given.length_max); !status.ok()) {
      return status;
    }
  }
  if (filter.first && filter.last && *filter.first > *filter.last) {
    return wrong("filter: nothing lies between sequence " + std::to_string(filter.first->value) +
                 " and " + std::to_string(filter.last->value) + "; first must not be above last");
  }
  if (filter.from && filter.until && *filter.from >= *filter.until) {
    return wrong("filter: nothing lies between " + utc_text(*filter.from) + " and " +
                 utc_text(*filter.until) + "; from must be before until");
  }
  return {};
}

Status check_replay(MessageState from, const MessageFilter& filter) {
  if (from == MessageState::pending) {
    return wrong("pending messages need no replay; replay dead, quarantined or done ones");
  }
  if (filter.retrying) {
    return wrong("filter: retrying messages are pending and need no replay; leave it out");
  }
  const bool ranged = filter.from || filter.until || filter.first || filter.last;
  if (from == MessageState::done && !ranged) {
    return wrong(
        "a replay delivers done messages again: say which by a sequence range (first, last) or a "
        "time range (from, until)");
  }
  return check_filter(filter);
}

Status check_options(const AdminOptions& options) {
  if (auto status = option(check_text("actor", options.actor, Admin::actor_length_max));
      !status.ok()) {
    return status;
  }
  if (options.tenant) {
    const auto tenant =
        option(check_text("tenant", *options.tenant, MessageRules::tenant_length_max));
    if (!tenant.ok()) return tenant;
  }
  const bool complete = options.metrics != nullptr && options.audit != nullptr &&
                        options.log != nullptr && options.clock != nullptr;
  if (complete) return {};
  return Error{Code::config_invalid,
               "metrics, audit, log and clock must not be null; leave them out for none"};
}

Status everybodys(const AdminOptions& options, std::string_view act) {
  if (!options.tenant) return {};
  return Error{Code::auth_denied, std::string(act) + " concerns all tenants, and " +
                                      quoted(options.actor) + " is bound to tenant " +
                                      quoted(*options.tenant) +
                                      "; ask an operator who is bound to none"};
}

Result<Admin::Whose> limited(const AdminOptions& options, const Admin::Whose& tenant) {
  if (tenant) {
    auto status = check_text("tenant", *tenant, MessageRules::tenant_length_max);
    if (!status.ok()) return status.error();
  }
  if (!options.tenant) return tenant;
  if (tenant && *tenant != *options.tenant) {
    return Error{Code::auth_denied, "tenant: " + quoted(options.actor) + " is bound to tenant " +
                                        quoted(*options.tenant) +
                                        " and sees no other; leave it out"};
  }
  return options.tenant;
}

}  // namespace sagabox::admin
