#include "assembly/settings_of_sagas.hpp"

#include "assembly/configuration.hpp"
#include "assembly/describe.hpp"
#include "assembly/settings_of_limits.hpp"

namespace sagabox::assembly {
namespace {

using Parts = std::vector<Setting>;
using Held = SagaSettings;

void add_what(Parts& parts) {
  parts.push_back(value<Held>("store", &Held::store,
                              "whose sagas these are; may be left out where there is one"));
  Parts files;
  files.push_back(value<SagaFile>("file", &SagaFile::file, "YAML or JSON", Setting::Kind::path));
  files.push_back(value<SagaFile>("call_secret", &SagaFile::call_secret,
                                  "of this definition's participants, instead of "
                                  "`sagas.call_secret`")
                      .hidden());
  parts.push_back(list<Held>("definitions", &Held::definitions, std::move(files),
                             "files with a definition each. Default: none, and no sagas are run")
                      .short_for("file"));
  parts.push_back(
      value<Held>(
          "reply_secret", [](auto& s) -> auto& { return s.options.reply_secret; },
          "the same in all processes, so that participants can reply by a token; at least "
          "16 characters; default: none, and no tokens")
          .hidden());
  parts.push_back(
      value<Held>(
          "reply_secret_before", [](auto& s) -> auto& { return s.options.reply_secret_before; },
          "the `reply_secret` that was there before: tokens that were made with it are still "
          "taken. Keep it for `reply_token_ttl`")
          .hidden());
  parts.push_back(value<Held>(
                      "reply_token_ttl", [](auto& s) -> auto& { return s.options.reply_token_ttl; },
                      "how long such a token is good: longer than any step waits")
                      .between("1m", "3650d"));
  parts.push_back(value<Held>("call_secret", &Held::call_secret,
                              "calls of participants are signed with it, as Standard Webhooks say: "
                              "`whsec_…` or `whsk_…`; several with a comma between while one "
                              "replaces another; default: none, and not signed")
                      .hidden());
  parts.push_back(
      pairs<Held>(
          "participants", [](auto& s) -> auto& { return s.options.participant_settings; },
          "of the URLs of all participants, as a route has them: `secret`, `header.NAME` "
          "…; see docs/transports")
          .hidden());
}

Setting saga_limits() {
  using L = SagaLimits;
  Parts parts;
  parts.push_back(section<L>("participant", &L::participant, limits_parts(),
                             "of each participant alone: scheme, host and port of its URLs")
                      .checked(own_check<Limits>()));
  parts.push_back(named_limits<L>("participants", &L::participants,
                                  "other ones for some: `https://flights.example.com`"));
  parts.push_back(section<L>("definition", &L::definition, limits_parts(),
                             "of the sagas of each definition alone")
                      .checked(own_check<Limits>()));
  parts.push_back(named_limits<L>("definitions", &L::definitions, "other ones for some, by name"));
  return section<Held>(
      "limits", [](auto& s) -> auto& { return s.options.limits; }, std::move(parts),
      "how fast participants are called over HTTP, beside `limits.transports`, `limits.tenant` and "
      "`limits.tenants`; a call that is over one waits and spends no attempt");
}

void add_saga_bounds(Parts& parts) {
  parts.push_back(value<Held>(
                      "instances_max", [](auto& s) -> auto& { return s.options.instances_max; },
                      "sagas in memory, of each definition; those that only wait are not kept")
                      .between("1", "10000000"));
  parts.push_back(value<Held>(
                      "calls_max", [](auto& s) -> auto& { return s.options.calls_max; },
                      "calls that run, of each definition; sagas that start or are due wait for "
                      "the rest")
                      .between("1", "1000000"));
  parts.push_back(value<Held>(
                      "batch_sagas_max", [](auto& s) -> auto& { return s.options.batch_sagas_max; },
                      "sagas that are written in one transaction")
                      .between("1", "100000"));
  parts.push_back(value<Held>(
                      "retention", [](auto& s) -> auto& { return s.options.retention; },
                      "how long sagas that completed or were cancelled are kept")
                      .between("0", "3650d"));
  parts.push_back(value<Held>(
                      "remember", [](auto& s) -> auto& { return s.options.remember; },
                      "how long participants keep what they note of a call, after the saga's "
                      "`timeout`: longer than a person may take to compensate a saga")
                      .between("0", "3650d"));
  parts.push_back(value<Held>(
                      "poll_interval", [](auto& s) -> auto& { return s.options.poll_interval; },
                      "how often a store that wakes nobody is looked at")
                      .between("1ms", "1m"));
  parts.push_back(value<Held>(
                      "lease", [](auto& s) -> auto& { return s.options.lease; },
                      "after which the sagas of a process that is gone are taken over")
                      .between("1s", "1h"));
  parts.push_back(value<Held>(
                      "drain_timeout", [](auto& s) -> auto& { return s.options.drain_timeout; },
                      "how long a stop waits for calls")
                      .between("0", "1h"));
}

}  // namespace

Setting saga_settings() {
  Parts parts;
  add_what(parts);
  parts.push_back(saga_limits());
  add_saga_bounds(parts);
  return section<Configuration>("sagas", &Configuration::sagas, std::move(parts),
                                "processes of several steps that this daemon runs")
      .checked(own_check<Held>());
}

}  // namespace sagabox::assembly
