#include "transports/nats/connector.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::nats {

Connector::Connector(const Options& options, std::shared_ptr<transports::UnderWay> under_way,
                     std::shared_ptr<transports::Wake> wake)
    : options_(options),
      under_way_(std::move(under_way)),
      wake_(std::move(wake)),
      backoff_(options.backoff_min),
      thread_([this] { run(); }) {}

Connector::~Connector() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Connector::want(std::unique_ptr<Connection> old) {
  {
    const std::lock_guard lock(mutex_);
    old_ = std::move(old);
    wanted_ = true;
  }
  changed_.notify_all();
}

Connector::News Connector::news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void Connector::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || wanted_; });
    if (ending_) break;
    if (const auto made_at = std::exchange(made_at_, std::nullopt)) {
      // A server that accepts connections and closes them at once must not be dialled in a loop.
      const auto lived = options_.clock->boot_now() - *made_at;
      if (lived >= options_.backoff_max) {
        backoff_ = options_.backoff_min;
      } else {
        back_off(lock);
        if (ending_) break;
      }
    }
    attempt(lock);
    if (wanted_) {
      back_off(lock);
    } else {
      made_at_ = options_.clock->boot_now();
    }
  }
  lock.unlock();
  nats_ReleaseThreadMemory();
}

void Connector::back_off(std::unique_lock<std::mutex>& lock) {
  changed_.wait_for(lock, backoff_, [this] { return ending_; });
  backoff_ = std::min(backoff_ * 2, options_.backoff_max);
}

void Connector::attempt(std::unique_lock<std::mutex>& lock) {
  auto old = std::move(old_);
  lock.unlock();
  old.reset();
  auto made = Connection::open(options_, discovered_servers_, under_way_, wake_);
  if (made) discovered_servers_ = (*made)->discovered_servers();
  lock.lock();
  if (made) {
    news_ = std::move(made).value();
    wanted_ = false;
  } else {
    news_ = Failed{made.error().message};
  }
  wake_->ring();
}

}  // namespace sagabox::nats
