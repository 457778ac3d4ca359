#pragma once

#include "bench/baselines/postgres/link.hpp"

#include <cstdint>
#include <string>

/// Messages written as one writes them by hand into the same table. Each throws when something
/// fails.
namespace sagabox::bench::by_hand {

/// One connection of a client that puts an order and its message into one transaction.
class OrderClient {
 public:
  OrderClient(const std::string& url, int number);

  void begin_with_order();
  void insert_message();
  /// By the SQL function.
  void enqueue_message();
  /// Into the inbox. Throws when it was there.
  void take_key(const std::string& key);
  void commit();
  [[nodiscard]] PGconn* handle() const { return link_.handle(); }

 private:
  Link link_;
  std::int64_t number_;
  bool knows_function_ = false;
  bool knows_inbox_ = false;
};

struct BatchLoad {
  std::string url;
  std::int64_t rows = 0;
  int batch = 1000;
  int connections = 1;
};
/// Batches of one INSERT over arrays, a transaction each. Rows a second.
double insert_batches(const BatchLoad& load);

}  // namespace sagabox::bench::by_hand
