#pragma once

#include "transports/nats/connection.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace sagabox::nats {

/// Opens connections on a thread of its own, because that blocks: one after the other, with backoff
/// while they fail or are short-lived, as long as one is wanted. Also closes those that were given
/// back.
class Connector {
 public:
  Connector(const Options& options, std::shared_ptr<transports::UnderWay> under_way,
            std::shared_ptr<transports::Wake> wake);
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;
  /// Waits for an attempt in progress.
  ~Connector();

  /// Starts attempts until one succeeds. `old` is closed first.
  void want(std::unique_ptr<Connection> old);

  struct Failed {
    std::string error;
  };
  using News = std::variant<std::monostate, std::unique_ptr<Connection>, Failed>;
  /// The outcome of the attempts since the last call; `wake` rings for it.
  News news();

 private:
  void run();
  void attempt(std::unique_lock<std::mutex>& lock);
  void back_off(std::unique_lock<std::mutex>& lock);

  const Options& options_;
  const std::shared_ptr<transports::UnderWay> under_way_;
  const std::shared_ptr<transports::Wake> wake_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;
  bool ending_ = false;
  std::unique_ptr<Connection> old_;
  News news_;
  std::vector<std::string> discovered_servers_;  ///< used by the thread only
  std::optional<BootTime> made_at_;              ///< of the connection in use
  Duration backoff_;
  std::thread thread_;
};

}  // namespace sagabox::nats
