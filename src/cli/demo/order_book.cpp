#include "cli/demo/order_book.hpp"

#include "core/masked_url.hpp"

#include <sagabox/stores/memory.hpp>

#ifdef SAGABOX_SQLITE
#include <sagabox/stores/sqlite.hpp>

#include <sqlite3.h>
#endif

#include <mutex>
#include <string>
#include <utility>

namespace sagabox::cli {
namespace {

class MemoryOrders final : public OrderBook {
 public:
  Store& store() override { return store_; }

  Status place(std::uint64_t cents, const Write& write, End end) override {
    const auto number = ++last_;
    if (auto begun = connection_.begin(); !begun.ok()) return begun;
    auto put = connection_.put(table, std::to_string(number), std::to_string(cents));
    if (!put.ok()) return put;
    auto tx = memory::enlist(connection_);
    if (!tx.ok()) return tx.error();
    if (auto written = write(*tx, number); !written.ok()) return written;
    auto ended = end == End::commit ? connection_.commit() : connection_.rollback();
    if (!ended.ok()) return ended;
    end == End::commit ? tx->committed() : tx->rolled_back();
    return {};
  }

  Result<bool> has(std::uint64_t number) override {
    auto found = store_.connect().get(table, std::to_string(number));
    if (!found.ok()) return found.error();
    return found->has_value();
  }
  Result<std::uint64_t> count() override { return store_.count(table); }
  [[nodiscard]] bool survives() const override { return false; }

 private:
  static constexpr std::string_view table = "orders";

  memory::MemoryStore store_;
  memory::Connection connection_ = store_.connect();
  std::uint64_t last_ = 0;
};

#ifdef SAGABOX_SQLITE

Error error_of(sqlite3* connection) {
  return {Code::storage_unavailable, std::string("the order book: ") + sqlite3_errmsg(connection)};
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

struct Close {
  void operator()(sqlite3* connection) const noexcept { sqlite3_close(connection); }
};

Result<Statement> prepare(sqlite3* connection, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection, sql, -1, &statement, nullptr) != SQLITE_OK) {
    return error_of(connection);
  }
  return Statement(statement);
}

class SqliteOrders final : public OrderBook {
 public:
  static Result<std::unique_ptr<OrderBook>> open(const std::string& path) {
    auto store = sqlite::open(path);
    if (!store.ok()) return store.error();
    std::unique_ptr<SqliteOrders> orders(new SqliteOrders(std::move(*store)));
    if (auto made = orders->make_table(); !made.ok()) return made.error();
    if (auto ready = orders->open_reader(path); !ready.ok()) return ready.error();
    return std::unique_ptr<OrderBook>(std::move(orders));
  }

  Store& store() override { return *store_; }

  Status place(std::uint64_t cents, const Write& write, End end) override {
    auto tx = store_->begin();
    if (!tx.ok()) return tx.error();
    auto* connection = sqlite::connection_of(**tx);
    if (!insert_) {
      auto prepared = prepare(connection, "INSERT INTO shop_order (cents) VALUES (?1)");
      if (!prepared.ok()) return prepared.error();
      insert_ = std::move(*prepared);
    }
    sqlite3_bind_int64(insert_.get(), 1, static_cast<sqlite3_int64>(cents));
    const bool inserted = sqlite3_step(insert_.get()) == SQLITE_DONE;
    sqlite3_reset(insert_.get());
    if (!inserted) return error_of(connection);
    const auto number = static_cast<std::uint64_t>(sqlite3_last_insert_rowid(connection));
    if (auto written = write(**tx, number); !written.ok()) return written;
    return end == End::commit ? (*tx)->commit() : (*tx)->rollback();
  }

  Result<bool> has(std::uint64_t number) override {
    const std::scoped_lock lock(mutex_);
    sqlite3_bind_int64(has_.get(), 1, static_cast<sqlite3_int64>(number));
    auto found = value_of(has_.get());
    if (!found.ok()) return found.error();
    return *found != 0;
  }
  Result<std::uint64_t> count() override {
    const std::scoped_lock lock(mutex_);
    return value_of(count_.get());
  }
  [[nodiscard]] bool survives() const override { return true; }

 private:
  explicit SqliteOrders(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  /// A service makes its own tables in the same way.
  Status make_table() {
    return store_->transaction([](OwnedTransaction& tx) -> Status {
      auto* connection = sqlite::connection_of(tx);
      const char* sql =
          "CREATE TABLE IF NOT EXISTS shop_order (number INTEGER PRIMARY KEY, cents INTEGER)";
      if (sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
        return error_of(connection);
      }
      return {};
    });
  }

  Status open_reader(const std::string& path) {
    sqlite3* opened = nullptr;
    const int result = sqlite3_open(path.c_str(), &opened);
    reader_.reset(opened);
    if (result != SQLITE_OK) return error_of(opened);
    auto has = prepare(opened, "SELECT EXISTS (SELECT 1 FROM shop_order WHERE number = ?1)");
    if (!has.ok()) return has.error();
    auto count = prepare(opened, "SELECT count(*) FROM shop_order");
    if (!count.ok()) return count.error();
    has_ = std::move(*has);
    count_ = std::move(*count);
    return {};
  }

  Result<std::uint64_t> value_of(sqlite3_stmt* statement) {
    const bool there = sqlite3_step(statement) == SQLITE_ROW;
    const auto value = static_cast<std::uint64_t>(sqlite3_column_int64(statement, 0));
    sqlite3_reset(statement);
    if (!there) return error_of(reader_.get());
    return value;
  }

  std::unique_ptr<Store> store_;
  Statement insert_;  // uses the store's connection, so it is destroyed first
  std::mutex mutex_;  // guards the members below
  std::unique_ptr<sqlite3, Close> reader_;
  Statement has_;
  Statement count_;
};

#endif

}  // namespace

Result<std::unique_ptr<OrderBook>> open_order_book(std::string_view url) {
#ifdef SAGABOX_SQLITE
  constexpr std::string_view sqlite_prefix = "sqlite:";
  if (url.starts_with(sqlite_prefix)) {
    return SqliteOrders::open(std::string(url.substr(sqlite_prefix.size())));
  }
#endif
  if (url != "memory:") {
    return Error{Code::config_invalid, "store " + masked_url(url) + " is not built in"};
  }
  return std::unique_ptr<OrderBook>(std::make_unique<MemoryOrders>());
}

}  // namespace sagabox::cli
