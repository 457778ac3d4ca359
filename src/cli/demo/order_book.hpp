#pragma once

#include <sagabox/store.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace sagabox::cli {

/// The business table of the demo, in the same database as the messages.
class OrderBook {
 public:
  enum class End : std::uint8_t { commit, rollback };
  using Write = std::function<Status(Transaction& tx, std::uint64_t number)>;

  virtual ~OrderBook() = default;
  virtual Store& store() = 0;
  /// Runs one transaction with the order and what `write` adds, ended as `end` says. Used by one
  /// thread at a time.
  virtual Status place(std::uint64_t cents, const Write& write, End end) = 0;
  /// Used by any thread.
  virtual Result<bool> has(std::uint64_t number) = 0;
  virtual Result<std::uint64_t> count() = 0;
  /// Whether orders still exist after a restart of the process.
  [[nodiscard]] virtual bool survives() const = 0;
};

/// `url` is a result of `parse_store`.
Result<std::unique_ptr<OrderBook>> open_order_book(std::string_view url);

}  // namespace sagabox::cli
