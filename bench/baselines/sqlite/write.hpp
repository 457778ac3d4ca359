#pragma once

#include "bench/baselines/sqlite/link.hpp"

#include <cstdint>
#include <string>

/// Messages written as one writes them by hand into the same table. Each throws when something
/// fails.
namespace sagabox::bench::by_hand::sqlite {

/// One row of the table, with the columns that a person would fill in.
class MessageInsert {
 public:
  explicit MessageInsert(Link& link);
  void run(std::int64_t number);

 private:
  Statement statement_;
};

/// One connection of a client that puts an order and its message into one transaction.
class OrderClient {
 public:
  OrderClient(const std::string& path, int number, int checkpoint_pages);

  void begin_with_order();
  void insert_message() { message_.run(number_); }
  void commit() { commit_.run(); }
  [[nodiscard]] sqlite3* handle() const { return link_.handle(); }

 private:
  Link link_;
  Statement begin_;
  Statement order_;
  MessageInsert message_;
  Statement commit_;
  std::int64_t number_;
};

struct BatchLoad {
  std::string path;
  std::int64_t rows = 0;
  int batch = 1000;  ///< rows a transaction
  int checkpoint_pages = 1000;
};
/// One connection, one INSERT a row, a transaction a batch. Rows a second.
double insert_batches(const BatchLoad& load);

}  // namespace sagabox::bench::by_hand::sqlite
