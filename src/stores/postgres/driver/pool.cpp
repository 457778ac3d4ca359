#include "stores/postgres/driver/pool.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::postgres {

Pool::Pool(ConnectSettings settings, Limits limits, std::string purpose)
    : settings_(std::move(settings)), limits_(limits), purpose_(std::move(purpose)) {}

void Pool::Lease::release() noexcept {
  if (connection_ != nullptr) pool_->recycle(std::move(connection_));
}

Result<Pool::Lease> Pool::take() {
  std::vector<std::unique_ptr<Connection>> stale;  // closed after the lock is released
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      if (connection->reusable()) return Lease(this, std::move(connection));
      stale.push_back(std::move(connection));
      --open_;
    }
    if (open_ < limits_.connections_max) break;
    const bool freed = freed_.wait_for(
        lock, limits_.wait_max, [&] { return !idle_.empty() || open_ < limits_.connections_max; });
    if (!freed) {
      return Error{Code::storage_unavailable,
                   "all " + std::to_string(limits_.connections_max) + " connections for " +
                       purpose_ + " were in use for " + duration_text(limits_.wait_max) +
                       "; raise connections_max, or hold transactions for less long"};
    }
  }
  if (const auto now = settings_.clock->boot_now(); now < not_before_) {
    return Error{Code::storage_unavailable,
                 last_error_ + "; next try in " + duration_text(not_before_ - now)};
  }
  ++open_;
  lock.unlock();
  return connect();
}

Result<Pool::Lease> Pool::connect() {
  auto connection = Connection::open(settings_);
  const std::lock_guard lock(mutex_);
  if (connection.ok()) {
    backoff_ = {};
    return Lease(this, std::move(connection).value());
  }
  --open_;
  freed_.notify_one();
  if (connection.error().code == Code::storage_unavailable) {
    backoff_ = std::clamp(backoff_ * 2, limits_.backoff_min, limits_.backoff_max);
    not_before_ = settings_.clock->boot_now() + backoff_;
    last_error_ = connection.error().message;
  }
  return connection.error();
}

std::uint32_t Pool::to_be_had() {
  const std::lock_guard lock(mutex_);
  return limits_.connections_max - open_ + static_cast<std::uint32_t>(idle_.size());
}

void Pool::recycle(std::unique_ptr<Connection> connection) noexcept {
  if (connection->in_transaction() && !connection->lost()) (void)connection->rollback();
  const bool keep = connection->reusable();
  {
    const std::lock_guard lock(mutex_);
    if (keep) {
      idle_.push_back(std::move(connection));
    } else {
      --open_;
    }
  }
  freed_.notify_one();
}

}  // namespace sagabox::postgres
