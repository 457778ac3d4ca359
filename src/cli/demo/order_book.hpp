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
  /// One transaction with the order and what `write` adds, ended as told. By one thread at a time.
  virtual Status place(std::uint64_t cents, const Write& write, End end) = 0;
  /// From any thread.
  virtual Result<bool> has(std::uint64_t number) = 0;
  virtual Result<std::uint64_t> count() = 0;
  /// Whether orders are there when the process comes back.
  [[nodiscard]] virtual bool survives() const = 0;
};

/// `url` as `parse_store` lets through.
Result<std::unique_ptr<OrderBook>> open_order_book(std::string_view url);

}  // namespace sagabox::cli
