#include "stores/sqlite/readers.hpp"

#include "core/text.hpp"

namespace sagabox::sqlite {

Result<Readers::Lease> Readers::take() {
  {
    std::unique_lock lock(mutex_);
    const bool free = returned_.wait_for(
        lock, options_.lock_max, [&] { return !idle_.empty() || opened_ < options_.readers_max; });
    if (!free) {
      return Error{Code::storage_unavailable,
                   "all " + std::to_string(options_.readers_max) + " reading connections of " +
                       path_ + " were in use for " + duration_text(options_.lock_max) +
                       "; try again, or raise readers_max"};
    }
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(connection));
    }
    ++opened_;
  }
  auto connection = Connection::open(path_, Connection::Use::read, options_);
  if (connection.ok()) return Lease(*this, std::move(*connection));
  {
    const std::lock_guard lock(mutex_);
    --opened_;
  }
  returned_.notify_one();
  return connection.error();
}

void Readers::release(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }
  returned_.notify_one();
}

}  // namespace sagabox::sqlite
