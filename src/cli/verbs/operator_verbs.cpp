#include "cli/verbs/operator_verbs.hpp"

#include "cli/option.hpp"

#include <sagabox/payload.hpp>

namespace sagabox::cli {
namespace {

constexpr const char* looking = "Look";
constexpr const char* acting = "Act";
const std::string message_states = one_of("STATE", {"pending", "done", "dead", "quarantined"});

Result<DeadKind> parse_kind(std::string_view text) {
  if (text == "message") return DeadKind::message;
  if (text == "saga") return DeadKind::saga;
  if (text == "delivery") return DeadKind::delivery;
  return Error{Code::config_invalid,
               "\"" + std::string(text) + "\"; give message, saga or delivery"};
}

template <class Arguments>
void add_kind(CLI::App& verb, Arguments& arguments) {
  add_option(verb, "--kind", one_of("KIND", {"message", "saga", "delivery"}), arguments.kind,
             parse_kind,
             "message (unless told), saga or delivery; sagas take --tenant, --since and --until, "
             "by when they were started, deliveries also --code and --topic, the event's type");
  verb.add_option("--of", arguments.server.store,
                  "of sagas: the store of the daemon that is meant, where it has several")
      ->type_name("NAME");
}

/// An empty shell variable is not a name: it would select other messages than intended.
Result<std::string> not_empty(std::string_view text) {
  if (text.empty()) {
    return Error{Code::config_invalid, "it is empty: say which, or leave the option out"};
  }
  return std::string(text);
}

void add_filter_options(CLI::App& verb, MessagesArguments& arguments) {
  add_table_option(verb, arguments.table);
  add_option(verb, "--topic", "TOPIC", arguments.topic, not_empty, "only of this topic");
  add_option(verb, "--tenant", "TENANT", arguments.tenant, not_empty,
             "only of this tenant; with ids: whose they are");
  add_option(verb, "--key", "KEY", arguments.key, not_empty, "only of this key");
  add_option(verb, "--aggregate-type", "TYPE", arguments.aggregate_type, not_empty,
             "only of this type of aggregate");
  add_option(verb, "--code", "CODE", arguments.code, parse_code,
             "only those whose last failure has this code: PROVIDER.REJECTED");
  add_option(verb, "--since", "WHEN", arguments.since, parse_when,
             "only those that ended (pending: were written) since then: 2h, 7d, or a time");
  add_option(verb, "--until", "WHEN", arguments.until, parse_when, "and before then");
}

void add_page_options(CLI::App& verb, ListArguments& arguments) {
  add_option(
      verb, "--limit", "N", arguments.rows_max,
      [](std::string_view text) { return parse_count("limit", text, 1, Admin::page_rows_max); },
      "at most so many, 20 unless told, up to 1000");
  verb.add_option("--after", arguments.cursor, "go on behind the page before, which named this")
      ->type_name("CURSOR");
}

void add_id(CLI::App& verb, MessageArguments& arguments) {
  add_table_option(verb, arguments.table);
  add_option(verb, "--tenant", "TENANT", arguments.tenant, not_empty,
             "whose message; needed where several tenants have the id");
  add_option(verb, "ID", "", arguments.id, MessageId::parse, "of the message")->required();
}

void add_show(CLI::App& app, Chosen& run, std::optional<MessageState> state) {
  auto [verb, arguments] =
      add_verb(app, "show", "One message: its state, its failures", run, run_dead_show);
  add_id(*verb, *arguments);
  arguments->state = state;
  if (state == MessageState::dead) add_kind(*verb, *arguments);
  verb->add_flag("--payload", arguments->payload, "its headers and payload, too");
}

void add_enqueue(CLI::App& app, Chosen& run) {
  auto [verb, arguments] =
      add_verb(app, "enqueue", "Writes a message in a transaction of its own", run, run_enqueue);
  verb->footer(R"(Examples:
  sagabox outbox enqueue --topic demo.hello.said.v1 --payload '{"to":"you"}'
  sagabox outbox enqueue --topic files.file.stored.v1 --key 17 --payload-file a.bin)");
  add_table_option(*verb, arguments->table);
  auto& message = arguments->message;
  add_option(
      *verb, "--topic", "TOPIC", message.topic,
      [](std::string_view text) { return Result<Topic>(Topic(text)); }, "what it is about")
      ->required();
  verb->add_option("--payload", arguments->payload, "JSON; - reads it from standard input")
      ->type_name("JSON");
  verb->add_option("--payload-file", arguments->payload_file, "the bytes of this file")
      ->type_name("FILE");
  verb->add_option("--key", message.key, "messages of one key are delivered in order")
      ->type_name("KEY");
  message.tenant.clear();
  add_option(*verb, "--tenant", "TENANT", message.tenant, not_empty,
             "\"default\" unless told, or the one that the key is bound to");
  verb->add_option("--header", arguments->headers, "goes with it; may be given again")
      ->type_name("NAME:VALUE");
  verb->add_option("--content-type", message.content_type, "unless it follows from the payload")
      ->type_name("TYPE");
  verb->add_option("--id", message.id, "its own id: writing it again is not a second message")
      ->type_name("ID");
  add_option(*verb, "--not-before", "TIME", message.not_before, parse_time,
             "not delivered before then");
}

void add_outbox(CLI::App& app, Chosen& run) {
  auto* outbox = app.add_subcommand("outbox", "Messages: list, show, enqueue, oldest");
  outbox->group(looking)->require_subcommand(1);
  auto [list, arguments] =
      add_verb(*outbox, "list", "Messages of a table, oldest first", run, run_list);
  add_filter_options(*list, arguments->messages);
  add_option(*list, "--state", message_states, arguments->state, parse_state,
             "pending (unless told), done, dead or quarantined");
  list->add_flag("--retrying", arguments->messages.retrying,
                 "only pending ones that failed and wait for another attempt");
  add_page_options(*list, *arguments);
  add_show(*outbox, run, std::nullopt);
  add_enqueue(*outbox, run);
  auto [oldest, which] = add_verb(
      *outbox, "oldest", "The message that has been pending longest, and why", run, run_oldest);
  add_table_option(*oldest, which->messages.table);
}

void add_job_options(CLI::App& verb, MoveArguments& arguments) {
  add_option(verb, "--rate", "N/s", arguments.rate_max, parse_rate,
             "not more messages a second; as fast as it goes unless told");
  verb.add_flag("--as-new", arguments.as_new,
                "consumers that ask an inbox handle them again, whatever they have handled");
  verb.add_flag("--detach", arguments.detach, "starts the job and does not wait for it");
}

void add_move(CLI::App& app, const std::string& name, const std::string& description, Chosen& run,
              int (*act)(const MoveArguments&), MessageState state) {
  auto [verb, given] = add_verb(app, name, description, run, act);
  const auto& arguments = given;
  arguments->state = state;
  add_kind(*verb, *arguments);
  add_filter_options(*verb, arguments->messages);
  add_yes_options(*verb, arguments->act);
  verb->add_option_function<std::vector<std::string>>(
          "ID",
          [arguments](const std::vector<std::string>& texts) {
            for (const auto& text : texts) {
              auto id = MessageId::parse(text);
              if (!id.ok()) throw CLI::ValidationError("ID", id.error().message);
              arguments->ids.push_back(*id);
            }
          },
          "these messages; none: all that fit the filter")
      ->type_name("");
  verb->add_flag("--all", arguments->all,
                 state == MessageState::dead ? "all dead letters of the table"
                                             : "all quarantined messages of the table");
  if (name == "quarantine") {
    verb->add_option("--note", arguments->note, "why, for who finds them")
        ->type_name("TEXT")
        ->required();
  }
  if (name != "replay") return;
  add_job_options(*verb, *arguments);
  verb->add_flag("--into-compensation", arguments->into_compensation,
                 "of sagas: what was done is undone, instead of going on");
}

void add_dead(CLI::App& app, Chosen& run) {
  auto* dead = app.add_subcommand("dead", "Dead letters: list, show, replay, quarantine, release");
  dead->group(acting)->require_subcommand(1);
  {
    auto [list, arguments] =
        add_verb(*dead, "list", "Dead letters of a table, oldest first", run, run_dead_list);
    arguments->state = MessageState::dead;
    add_kind(*list, *arguments);
    add_filter_options(*list, arguments->messages);
    add_page_options(*list, *arguments);
  }
  add_show(*dead, run, MessageState::dead);
  add_move(*dead, "replay", "Dead letters become pending again", run, run_dead_replay,
           MessageState::dead);
  add_move(*dead, "quarantine", "Sets messages aside until they are released", run, run_quarantine,
           MessageState::dead);
  add_move(*dead, "release", "Quarantined messages become pending again", run, run_release,
           MessageState::quarantined);
}

void add_replay(CLI::App& app, Chosen& run) {
  auto [replay, arguments] = add_verb(
      app, "replay", "Delivers a range again, as a job: delivered messages, too", run, run_replay);
  replay->group(acting)->require_subcommand(0, 1);
  replay->footer(R"(Examples:
  sagabox replay --from 8000 --to 8812 --rate 50/s       by sequence
  sagabox replay --from 2h --to 1h --topic orders.order.placed.v1
  sagabox replay --from 2h --to 1h --as-new              also for consumers that have handled them
  sagabox replay list
  sagabox replay stop 7)");
  arguments->state = MessageState::done;
  add_filter_options(*replay, arguments->messages);
  add_yes_options(*replay, arguments->act);
  add_option(*replay, "--from", "BOUND", arguments->from, parse_bound,
             "the first: a sequence, how long ago, or a time");
  add_option(*replay, "--to", "BOUND", arguments->to, parse_bound, "the last; a time: before then");
  add_option(*replay, "--state", message_states, arguments->state, parse_state,
             "done (unless told), dead or quarantined");
  add_job_options(*replay, *arguments);
  const auto job_verb = [&](const std::string& name, const std::string& description,
                            int (*act)(const JobArguments&)) {
    auto [verb, job] = add_verb(*replay, name, description, run, act);
    add_table_option(*verb, job->table);
    if (name == "list") return;
    verb->add_option("JOB", job->job, "its number")->type_name("")->required();
  };
  job_verb("list", "Replay jobs", run_job_list);
  job_verb("show", "One replay job", run_job_show);
  job_verb("stop", "Stops a job; it can be resumed",
           [](const JobArguments& job) { return run_job_change(job, ReplayJob::State::stopped); });
  job_verb("resume", "Goes on with a job that was stopped or failed",
           [](const JobArguments& job) { return run_job_change(job, ReplayJob::State::running); });
}

void add_pauses(CLI::App& app, Chosen& run) {
  for (const bool paused : {true, false}) {
    auto [verb, arguments] =
        add_verb(app, paused ? "pause" : "resume",
                 paused ? "Nothing of a table or topic is delivered; writing goes on"
                        : "What was paused is delivered again",
                 run, run_pause);
    verb->group(acting);
    arguments->paused = paused;
    add_table_option(*verb, arguments->table);
    add_option(*verb, "--topic", "TOPIC", arguments->topic, not_empty, "only this topic");
    if (paused) {
      verb->add_option("--note", arguments->note, "why, for who finds it paused")
          ->type_name("TEXT");
    }
    add_yes_options(*verb, arguments->act);
  }
}

void add_purge(CLI::App& app, Chosen& run) {
  auto [verb, arguments] =
      add_verb(app, "purge", "Deletes messages that ended long ago", run, run_purge);
  verb->group(acting);
  add_table_option(*verb, arguments->table);
  add_yes_options(*verb, arguments->act);
  add_option(*verb, "--older-than", "AGE", arguments->older_than, parse_age,
             "since they ended: 12h, 7d; 0 is all of them");
  add_option(*verb, "--state", message_states, arguments->state, parse_state,
             "done (unless told), dead, quarantined or pending");
  verb->add_flag("--force-pending", arguments->force_pending,
                 "messages that were never delivered may be deleted");
}

Result<std::optional<IdempotencyState>> parse_idempotency_state(std::string_view text) {
  if (const auto state = idempotency_state_from_name(text)) return std::optional(*state);
  return Error{Code::config_invalid,
               "\"" + std::string(text) + "\"; give in_flight, succeeded, failed or released"};
}

void add_idempotency(CLI::App& app, Chosen& run) {
  auto* keys = app.add_subcommand("idempotency", "Idempotency keys: list, show, purge");
  keys->group(looking)->require_subcommand(1);
  {
    auto [list, arguments] =
        add_verb(*keys, "list", "Which requests are known, by tenant, consumer and key", run,
                 run_idempotency_list);
    auto& query = arguments->query;
    add_option(*list, "--tenant", "TENANT", query.tenant, not_empty, "only of this tenant");
    add_option(*list, "--consumer", "NAME", query.consumer, not_empty,
               "only of this consumer; give --tenant, too: without it all keys are read");
    add_option(*list, "--state", one_of("STATE", {"in_flight", "succeeded", "failed", "released"}),
               query.state, parse_idempotency_state,
               "only in_flight, succeeded, failed or released ones");
    add_option(
        *list, "--limit", "N", query.rows_max,
        [](std::string_view text) { return parse_count("limit", text, 1, Admin::page_rows_max); },
        "at most so many, 20 unless told, up to 1000");
    list->add_option("--after", query.cursor, "go on behind the page before, which named this")
        ->type_name("CURSOR");
  }
  const auto add_key = [](CLI::App& verb, IdempotencyArguments& arguments) {
    add_option(verb, "--tenant", "TENANT", arguments.query.tenant, not_empty,
               "whose key, \"default\" unless told");
    verb.add_option("CONSUMER", arguments.consumer, "whose work it is")->type_name("");
    verb.add_option("KEY", arguments.key, "of the request")->type_name("");
  };
  {
    auto [show, arguments] = add_verb(*keys, "show", "One key: its state, its lease, its times",
                                      run, run_idempotency_show);
    add_key(*show, *arguments);
    for (auto* option : show->get_options()) {
      if (option->get_positional()) option->required();
    }
  }
  {
    auto [purge, arguments] = add_verb(
        *keys, "purge", "Forgets a key, so that its request is done again; or all that expired",
        run, run_idempotency_purge);
    purge->footer(R"(Examples:
  sagabox idempotency purge mailer order-7 --note "the first mail was never sent"
  sagabox idempotency purge --expired)");
    add_key(*purge, *arguments);
    add_yes_options(*purge, arguments->act);
    purge->add_flag("--expired", arguments->expired, "all whose time is over");
    purge->add_option("--note", arguments->note, "why, for the audit log")->type_name("TEXT");
  }
}

}  // namespace

void add_looking_verbs(CLI::App& app, Chosen& run) {
  {
    auto [verb, arguments] = add_verb(
        app, "status", "Every table: backlog, rates, owners, and what is wrong", run, run_status);
    verb->group(looking);
    add_table_option(*verb, arguments->table);
    add_option(*verb, "--over", "DURATION", arguments->over, parse_duration,
               "how long to watch for the rates, 1s unless told");
  }
  {
    auto [verb, arguments] =
        add_verb(app, "tail", "What is written, fails and ends, until Ctrl-C", run, run_tail);
    verb->group(looking);
    add_table_option(*verb, arguments->table);
    add_option(*verb, "--every", "DURATION", arguments->every, parse_duration,
               "how often to look, 500ms unless told");
    add_option(*verb, "--for", "DURATION", arguments->run_for, parse_duration,
               "ends by itself after this time");
  }
  add_verb(app, "table-names", "One a line, for completions", run, run_table_names)
      .first->group("");
  add_outbox(app, run);
  {
    auto [verb, arguments] =
        add_verb(app, "explain",
                 "Why a message or a delivery has not arrived, or a subscription gets nothing", run,
                 run_explain);
    verb->group(looking);
    verb->footer(R"(Examples:
  sagabox explain 01JC9Y3B6W8QK3T5V0ZC2N7A4F          a message
  sagabox explain d0a1b2c3d4e5f60718293a4b5c6d7e8f9   a delivery of the hub
  sagabox explain 01JD3V5T2K8XN0R6Q4M7W1ZB9C          a subscription of the hub)");
    add_id(*verb, *arguments);
  }
  {
    auto [verb, arguments] =
        add_verb(app, "owners", "Who delivers: shards, leases, epochs", run, run_owners);
    verb->group(looking);
    add_table_option(*verb, arguments->table);
  }
  add_idempotency(app, run);
  {
    auto [verb, arguments] =
        add_verb(app, "doctor", "What is wrong with the database, its settings and its tables", run,
                 run_doctor);
    verb->group(looking);
    verb->add_option("--config", arguments->config,
                     "this configuration, its stores and the brokers of its routes, instead of one "
                     "store")
        ->type_name("FILE");
    verb->add_option("--transport", arguments->transports,
                     "asks this broker for its settings, too; may be given again")
        ->type_name("URL");
    verb->footer("Exit code 0: nothing is wrong. 1: something is, or it could not be asked.");
  }
}

void add_acting_verbs(CLI::App& app, Chosen& run) {
  add_dead(app, run);
  add_replay(app, run);
  add_pauses(app, run);
  add_purge(app, run);
}

}  // namespace sagabox::cli
