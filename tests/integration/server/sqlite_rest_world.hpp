#pragma once

#include "server/server.hpp"
#include "support/rest_client.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace sagabox::integration {

using namespace std::chrono_literals;
using testing::RestAnswer;
using testing::RestClient;

/// A server for one table in a SQLite file, on a free port.
class SqliteRest : public ::testing::Test {
 protected:
  void serve(server::ServerOptions options = {}) {
    options.api.tables = {
        {.table = table_, .store = store_.get(), .outbox = server::always(outbox_)}};
    options.api.exposition = prometheus_.get();
    options.api.metrics = prometheus_.get();
    options.api.saga_replies = {.store = store_.get(), .secret = reply_secret};
    options.listener.port = 0;
    server_ = server::Server::start(std::move(options)).value();
  }
  RestClient client() { return RestClient(server_->port()); }
  std::uint64_t pending() { return store_->outbox_admin().stats(table_).value().pending; }

  static inline const std::string reply_secret = "a secret of this test";
  static inline const std::string messages = "/v1/tables/orders/messages";
  static inline const std::string order = R"({"topic":"t","payload":{"n":1}})";

  testing::SqliteFolder folder_;
  std::unique_ptr<PrometheusMetrics> prometheus_ = PrometheusMetrics::create();
  TableName table_ = TableName::parse("orders").value();
  std::unique_ptr<Store> store_ =
      sqlite::open(folder_.file(), {.durability = sqlite::Durability::normal}).value();
  Outbox outbox_ =
      Outbox::writer_only(*store_, {.table = "orders", .metrics = prometheus_.get()}).value();
  std::unique_ptr<server::Server> server_;
};

}  // namespace sagabox::integration
