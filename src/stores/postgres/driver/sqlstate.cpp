#include "stores/postgres/driver/sqlstate.hpp"

#include "core/error_text.hpp"

#include <array>
#include <string>

namespace sagabox::postgres {
namespace {

struct Meaning {
  std::string_view prefix;  // of the SQLSTATE; the first match counts
  Code code;
  std::string_view advice;
};

constexpr std::array meanings{
    Meaning{"40", Code::storage_conflict, "roll back and try again"},
    Meaning{"55P03", Code::storage_conflict,
            "another transaction holds the row for too long; roll back and try again"},
    Meaning{"23505", Code::storage_conflict,
            "a row with this key is there, written meanwhile or long ago; roll back and try again, "
            "and if "
            "it stays so look at that row"},
    Meaning{"26000", Code::storage_conflict,
            "the connection forgot its prepared statements (DISCARD ALL, or a pooler: open the "
            "store with pooled = true); roll back and try again"},
    Meaning{"42P05", Code::storage_conflict,
            "the connection has another one's prepared statements (a pooler: open the store with "
            "pooled = true); roll back and try again"},
    Meaning{"0A000", Code::storage_conflict, "the schema changed meanwhile; try again"},
    Meaning{"55006", Code::tx_invalid_state, "stop what uses it first"},
    Meaning{"57014", Code::storage_unavailable,
            "the statement took longer than statement_timeout allows, or an administrator "
            "cancelled it; try again"},
    Meaning{"25P02", Code::tx_invalid_state,
            "an earlier statement of this transaction failed; roll back and begin again"},
    Meaning{"25006", Code::storage_unavailable,
            "this server takes no writes, it is a replica or read-only; connect to the primary"},
    Meaning{"08", Code::storage_unavailable, "try again"},
    Meaning{"57P", Code::storage_unavailable, "the server is going down or coming up; try again"},
    Meaning{"53300", Code::storage_unavailable,
            "the server has no connection left; raise max_connections or lower connections_max"},
    Meaning{"53100", Code::storage_unavailable, "the disk of the server is full; make room for it"},
    Meaning{"53", Code::storage_unavailable, "the server is out of a resource; look at its log"},
    Meaning{"58", Code::storage_unavailable, "the server's machine fails; look at its log"},
    Meaning{"42P01", Code::config_invalid,
            "make the tables first: prepare() or `sagabox migrate up`"},
    Meaning{"42703", Code::config_invalid,
            "the tables are of another version; run `sagabox migrate up`"},
    Meaning{"42P10", Code::config_invalid,
            "the tables are of another version; run `sagabox migrate up`"},
    Meaning{"42883", Code::config_invalid,
            "the tables are of another version; run `sagabox migrate up`"},
    Meaning{"3F000", Code::config_invalid,
            "make the schema first: prepare() or `sagabox migrate up`"},
    Meaning{"3D000", Code::config_invalid, "create the database, or mend the URL"},
    Meaning{"42501", Code::config_invalid, "grant the role what it lacks"},
    Meaning{"28", Code::config_invalid, "check user and password of the URL, and pg_hba.conf"},
    Meaning{"22", Code::schema_validation_failed, "the database cannot hold this value"},
    Meaning{"23", Code::schema_validation_failed, "the value breaks a rule of the table"},
};

const Meaning* meaning_of(std::string_view sqlstate) noexcept {
  for (const auto& meaning : meanings) {
    if (sqlstate.starts_with(meaning.prefix)) return &meaning;
  }
  return nullptr;
}

std::string_view field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

/// Texts of data errors may quote data.
std::string description(const PGresult* result, std::string_view sqlstate) {
  if (!sqlstate.starts_with("22") && !sqlstate.starts_with("23")) {
    return clean_error(field(result, PG_DIAG_MESSAGE_PRIMARY));
  }
  std::string text = "value refused";
  for (const auto& [name, code] :
       {std::pair{" table ", PG_DIAG_TABLE_NAME}, std::pair{" column ", PG_DIAG_COLUMN_NAME},
        std::pair{" constraint ", PG_DIAG_CONSTRAINT_NAME}}) {
    if (const auto value = field(result, code); !value.empty()) text += name + std::string(value);
  }
  return text;
}

}  // namespace

Code code_of_sqlstate(std::string_view sqlstate) noexcept {
  const Meaning* meaning = meaning_of(sqlstate);
  return meaning == nullptr ? Code::unknown_internal : meaning->code;
}

Error server_error(const PGresult* result, Effect effect) {
  const auto sqlstate = field(result, PG_DIAG_SQLSTATE);
  const auto severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  const bool ends_connection = severity == "FATAL" || severity == "PANIC";
  const std::string what =
      "PostgreSQL " + std::string(sqlstate) + ": " + description(result, sqlstate);
  if (ends_connection && effect == Effect::commits) return lost_connection(what, effect);
  const Meaning* meaning = meaning_of(sqlstate);
  if (meaning == nullptr) {
    return {ends_connection ? Code::storage_unavailable : Code::unknown_internal,
            what + "; look at the server's log"};
  }
  return {meaning->code, what + "; " + std::string(meaning->advice)};
}

Error lost_connection(std::string_view why, Effect effect) {
  const std::string what = "the connection to PostgreSQL was lost (" + clean_error(why) + ")";
  if (effect == Effect::commits) {
    return {Code::storage_in_doubt,
            what +
                " while a commit was under way: it may or may not have happened; look first, or "
                "repeat only what is idempotent by id"};
  }
  return {Code::storage_unavailable, what + "; nothing was committed, try again"};
}

Error connect_error(const PGconn* connection) {
  const std::string text = clean_error(PQerrorMessage(connection));
  // libpq does not keep the SQLSTATE of a refused connection. These texts come from the server and
  // may be translated, so an unknown text counts as "not reachable now".
  if (text.find("authentication failed") != std::string::npos ||
      text.find("pg_hba.conf") != std::string::npos ||
      text.find("no password supplied") != std::string::npos) {
    return {Code::config_invalid,
            "PostgreSQL refused the connection: " + text + "; " + "check user and password"};
  }
  if (text.find("does not exist") != std::string::npos) {
    return {Code::config_invalid,
            "PostgreSQL refused the connection: " + text + "; create it, or mend the URL"};
  }
  if (text.find("unsupported startup parameter") != std::string::npos) {
    return {Code::config_invalid, "the pooler refused the connection: " + text +
                                      "; leave options= out of the URL, or name it in the pooler's "
                                      "ignore_startup_parameters"};
  }
  return {Code::storage_unavailable, "cannot connect to PostgreSQL: " + text};
}

}  // namespace sagabox::postgres
