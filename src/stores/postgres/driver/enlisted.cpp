#include "stores/postgres/driver/names.hpp"
#include "stores/postgres/driver/session.hpp"
#include "stores/postgres/driver/transaction.hpp"
#include "stores/postgres/outbox/insert.hpp"
#include "stores/postgres/sql_files.hpp"
#include "stores/sql/hub_events.hpp"
#include "stores/sql/inbox.hpp"

#include <sagabox/stores/postgres.hpp>

#include <libpq-events.h>
#include <libpq-fe.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::postgres {
namespace {

/// A schema that this connection has written to.
struct KnownSchema {
  explicit KnownSchema(Names of) : names(std::move(of)) {}
  Names names;
  std::map<TableName, InsertStatements> statements;
  std::optional<sql::InboxStatements> inbox{};        ///< once it was requested
  std::optional<sql::SagaInboxStatements> sagas{};    ///< the same
  std::optional<sql::HubPublishStatements> events{};  ///< the same

  const sql::InboxStatements& inbox_statements() {
    if (!inbox) {
      auto sections = sql::Sections::parse(sql_files, names.schema()).value();
      inbox.emplace(sections);
    }
    return *inbox;
  }
  const sql::SagaInboxStatements& saga_statements() {
    if (!sagas) {
      auto sections = sql::Sections::parse(sql_files, names.schema()).value();
      sagas.emplace(sections);
    }
    return *sagas;
  }
  const sql::HubPublishStatements& event_statements() {
    if (!events) {
      auto sections = sql::Sections::parse(sql_files, names.schema()).value();
      events.emplace(sections);
    }
    return *events;
  }
};

/// The state kept for a connection that the caller owns, until it is closed.
struct Known {
  PreparedNames prepared;
  bool looked = false;   ///< whether there is a pooler is known
  bool prepares = true;  ///< false behind a pooler, and after the statements were deallocated
  std::uint64_t begun = 0;
  std::uint64_t rollbacks = 0;  ///< of savepoints and of transactions, not told apart by libpq
  bool savepoints = true;       ///< the open transaction may have savepoints
  std::map<std::string, KnownSchema, std::less<>> schemas;
};

/// Counts transactions: the number changes after every BEGIN and COMMIT AND CHAIN. Also notes
/// whether the transaction has savepoints, if its begin was seen.
void count_transactions(Known& known, const PGresult* result) {
  // Not const in libpq, though it does not change it.
  const std::string_view tag = PQcmdStatus(const_cast<PGresult*>(result));
  if (tag == "BEGIN" || tag == "START TRANSACTION" || tag == "COMMIT") {
    ++known.begun;
    known.savepoints = false;
  }
  if (tag == "SAVEPOINT") known.savepoints = true;
  if (tag == "ROLLBACK") ++known.rollbacks;
}

int on_event(PGEventId event, void* info, void*);

Known* known_of(const PGconn* connection) {
  return static_cast<Known*>(PQinstanceData(connection, &on_event));
}

/// Called by libpq.
int on_event(PGEventId event, void* info, void*) {
  switch (event) {
    case PGEVT_RESULTCREATE: {
      const auto* created = static_cast<const PGEventResultCreate*>(info);
      if (Known* known = known_of(created->conn)) count_transactions(*known, created->result);
      break;
    }
    case PGEVT_CONNRESET:
      if (Known* known = known_of(static_cast<const PGEventConnReset*>(info)->conn)) {
        known->prepared.clear();
        known->looked = false;
        known->savepoints = true;
        ++known->begun;
      }
      break;
    case PGEVT_CONNDESTROY:
      delete known_of(static_cast<const PGEventConnDestroy*>(info)->conn);
      break;
    default:
      break;
  }
  return 1;
}

/// Null when libpq is out of memory.
Known* get_to_know(PGconn* connection) {
  if (Known* known = known_of(connection)) return known;
  auto known = std::make_unique<Known>();
  // May be registered already, without data, by an attempt that failed below.
  (void)PQregisterEventProc(connection, &on_event, "sagabox", nullptr);
  if (PQsetInstanceData(connection, &on_event, known.get()) != 1) return nullptr;
  return known.release();
}

Result<KnownSchema*> schema_of(Known& known, std::string_view schema) {
  if (const auto found = known.schemas.find(schema); found != known.schemas.end()) {
    return &found->second;
  }
  auto names = Names::parse(schema);
  if (!names.ok()) return names.error();
  return &known.schemas.try_emplace(std::string(schema), std::move(*names)).first->second;
}

const Statement process_statement{"", "SELECT pg_catalog.pg_backend_pid()"};

/// Behind a pooler the answering server process differs from the one that PQbackendPID names, and
/// the next transaction may run on one that has none of our prepared statements.
Status look_for_pooler(PGconn* connection, Known& known) {
  auto process = Link(connection, nullptr, {}).run(process_statement, {}, Effect::none);
  if (!process.ok()) return process.error();
  known.prepares = process->int4(0, 0) == PQbackendPID(connection);
  known.looked = true;
  return {};
}

Error no_transaction(std::string_view call) {
  return {Code::tx_no_transaction,
          std::string(call) + " needs an open transaction on this connection; call BEGIN first"};
}

}  // namespace

struct Enlisted::Borrowed {
  PGconn* connection;
  Known* known;
  KnownSchema* schema;
  std::uint64_t begun;
  std::uint64_t rollbacks;
  /// A row of this transaction that no rollback to a savepoint can remove, and the statements that
  /// look for it.
  const InsertStatements* statements = nullptr;
  struct Row {
    MessageId id;
    std::string tenant;
  };
  std::optional<Row> lasting{};
  bool ended = false;  ///< the caller rolled back and chained another transaction
  std::optional<sql::TransactionInbox> inbox{};    ///< once it was requested
  std::optional<sql::TransactionSagas> sagas{};    ///< the same
  std::optional<sql::TransactionEvents> events{};  ///< the same

  [[nodiscard]] const InsertStatements& statements_of(const TableName& table) const;
  /// `written` has one element for each message.
  void remember(const InsertStatements& by,
                std::span<const std::shared_ptr<const Message>> messages,
                const std::vector<Written>& written);
  Result<bool> rolled_back();
  [[nodiscard]] bool is_open() const;
  /// Error if this transaction cannot take our statements.
  Status check(std::string_view call);
  Result<std::unique_ptr<sql::Session>> sql_session();
  /// Runs `work(link)` over the connection.
  template <class Work>
  auto with_link(Work&& work) {
    Link link(connection, known->prepares ? &known->prepared : nullptr, {});
    auto result = std::forward<Work>(work)(link);
    if (link.confused()) known->prepares = false;
    return result;
  }

  /// Uses the caller's transaction while that is open.
  class Session final : public sql::Session {
   public:
    using sql::Session::run;
    explicit Session(Borrowed& borrowed) : borrowed_(borrowed) {}
    Result<std::vector<sql::Rows>> run(std::span<const sql::Call> calls) override {
      if (auto usable = borrowed_.check("run()"); !usable.ok()) return usable.error();
      return borrowed_.with_link([&](Link& link) { return LinkSession(link).run(calls); });
    }
    Result<WallTime> now() override {
      if (auto usable = borrowed_.check("now()"); !usable.ok()) return usable.error();
      return borrowed_.with_link([](Link& link) { return LinkSession(link).now(); });
    }

   private:
    Borrowed& borrowed_;
  };
};

const InsertStatements& Enlisted::Borrowed::statements_of(const TableName& table) const {
  return schema->statements.try_emplace(table, schema->names, table).first->second;
}

void Enlisted::Borrowed::remember(const InsertStatements& by,
                                  std::span<const std::shared_ptr<const Message>> messages,
                                  const std::vector<Written>& written) {
  const auto one = std::ranges::find_if(
      written, [](const Written& row) { return !row.duplicate && !row.in_savepoint; });
  if (lasting || one == written.end()) return;
  statements = &by;
  const auto at = static_cast<std::size_t>(one - written.begin());
  lasting = Row{one->id, messages[at]->tenant()};
}

/// Whether one of the ROLLBACKs since the last call ended the transaction (AND CHAIN, as another is
/// open), not only a savepoint. A transaction that wrote nothing needs no such check.
Result<bool> Enlisted::Borrowed::rolled_back() {
  if (rollbacks == known->rollbacks || !lasting) return false;
  Params params;
  const std::span one(&*lasting, 1);
  params.array(Type::text, one, [](const Row& row) { return row.id.view(); });
  params.array(Type::text, one, [](const Row& row) { return std::string_view(row.tenant); });
  auto rows = Link(connection, nullptr, {}).run(statements->pending, params, Effect::none);
  if (!rows.ok()) return rows.error();
  if (rows->empty()) return true;
  rollbacks = known->rollbacks;
  return false;
}

bool Enlisted::Borrowed::is_open() const {
  if (ended || known->begun != begun) return false;
  const auto status = PQtransactionStatus(connection);
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

Status Enlisted::Borrowed::check(std::string_view call) {
  if (!is_open()) return no_transaction(call);
  if (PQtransactionStatus(connection) == PQTRANS_INERROR) {
    return Error{Code::tx_invalid_state,
                 "an earlier statement of this transaction failed; ROLLBACK and begin again"};
  }
  auto ended = rolled_back();
  if (!ended.ok()) return ended.error();
  if (*ended) return no_transaction(call);
  if (!known->looked) return look_for_pooler(connection, *known);
  return {};
}

Result<std::unique_ptr<sql::Session>> Enlisted::Borrowed::sql_session() {
  return std::unique_ptr<sql::Session>(std::make_unique<Session>(*this));
}

Enlisted::Enlisted(std::unique_ptr<Borrowed> borrowed) : borrowed_(std::move(borrowed)) {}
Enlisted::Enlisted(Enlisted&&) noexcept = default;
Enlisted::~Enlisted() = default;

bool Enlisted::is_open() const { return borrowed_->is_open(); }

Inbox& Enlisted::inbox() {
  auto& inbox = borrowed_->inbox;
  if (!inbox) {
    inbox.emplace(borrowed_->schema->inbox_statements(), nullptr,
                  [borrowed = borrowed_.get()] { return borrowed->sql_session(); });
  }
  return *inbox;
}

SagaInbox& Enlisted::sagas() {
  auto& sagas = borrowed_->sagas;
  if (!sagas) {
    sagas.emplace(borrowed_->schema->saga_statements(), nullptr,
                  [borrowed = borrowed_.get()] { return borrowed->sql_session(); });
  }
  return *sagas;
}

EventWriter& Enlisted::events() {
  auto& events = borrowed_->events;
  if (!events) {
    // The table computes the shards, so their number need not be known here.
    constexpr std::uint16_t any_shards = 1;
    events.emplace(borrowed_->schema->event_statements(), nullptr, any_shards,
                   [borrowed = borrowed_.get()] { return borrowed->sql_session(); });
  }
  return *events;
}

Result<std::vector<Written>> Enlisted::insert(
    const TableName& table, std::span<const std::shared_ptr<const Message>> messages) {
  return insert(table, messages, true);
}

Result<std::vector<Written>> Enlisted::insert_blind(
    const TableName& table, std::span<const std::shared_ptr<const Message>> messages) {
  return insert(table, messages, false);
}

Result<std::vector<Written>> Enlisted::insert(
    const TableName& table, std::span<const std::shared_ptr<const Message>> messages, bool told) {
  if (!is_open()) return no_transaction("write()");
  if (auto usable = borrowed_->check("write()"); !usable.ok()) {
    if (usable.error().code == Code::tx_no_transaction) {
      Transaction::rolled_back();
      borrowed_->ended = true;
    }
    return usable.error();
  }
  Known* const known = borrowed_->known;
  const InsertStatements& statements = borrowed_->statements_of(table);
  // Until there is a row that no savepoint can remove, each insert must return whether it is in
  // one.
  const bool ask = told || (known->savepoints && !borrowed_->lasting);
  auto written = borrowed_->with_link([&](Link& link) {
    return insert_messages(link, statements, messages, system_clock().wall_now(), ask);
  });
  if (written.ok() && (ask || !known->savepoints)) {
    borrowed_->remember(statements, messages, *written);
  }
  return written;
}

Result<Enlisted> enlist(PGconn* connection, std::string_view schema) {
  if (connection == nullptr || PQstatus(connection) != CONNECTION_OK) {
    return Error{Code::storage_unavailable,
                 "enlist() needs a connection that is open; connect, and call BEGIN first"};
  }
  Known* known = get_to_know(connection);
  if (known == nullptr) return Error{Code::unknown_internal, "libpq: out of memory"};
  switch (PQtransactionStatus(connection)) {
    case PQTRANS_INTRANS:
      break;
    case PQTRANS_INERROR:
      return Error{Code::tx_invalid_state,
                   "an earlier statement of this transaction failed; ROLLBACK and begin again"};
    default:
      return no_transaction("write()");
  }
  auto in = schema_of(*known, schema);
  if (!in.ok()) return in.error();
  return Enlisted(std::make_unique<Enlisted::Borrowed>(
      Enlisted::Borrowed{connection, known, *in, known->begun, known->rollbacks}));
}

Result<std::unique_ptr<sql::Session>> session_of(Transaction& transaction) {
  if (!transaction.is_open()) return no_transaction("session_of()");
  if (auto* ours = dynamic_cast<StoreTransaction*>(&transaction)) return ours->session();
  auto* enlisted = dynamic_cast<Enlisted*>(&transaction);
  if (enlisted == nullptr) return no_transaction("session_of()");
  return enlisted->borrowed_->sql_session();
}

}  // namespace sagabox::postgres
