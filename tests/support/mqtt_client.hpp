#pragma once

#include <sagabox/time.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct mosquitto;

namespace sagabox::testing {

/// Subscribes and records messages, on a thread of its own; the server stores messages for it while
/// it is disconnected.
class MqttClient {
 public:
  /// `filter` ends with #.
  MqttClient(std::uint16_t port, const std::string& filter);
  ~MqttClient();
  MqttClient(const MqttClient&) = delete;
  MqttClient& operator=(const MqttClient&) = delete;

  struct Got {
    std::string payload;
    std::string content_type;
    bool retained = false;
    std::vector<std::pair<std::string, std::string>> properties;
  };
  /// All messages that the server has; waits until there are `count`, or for a time limit.
  std::vector<Got> wait_for(const std::string& topic, std::size_t count);
  /// Returns whether it subscribed within a time limit.
  bool wait_for_subscription();
  /// Returns whether it lost its connection within a time limit.
  bool wait_for_loss();

 private:
  struct Callbacks;
  void run();
  const std::string filter_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<Got>> by_topic_;
  bool subscribed_ = false;
  int lasts_ = 0;
  mosquitto* client_;
  std::atomic<bool> stopping_ = false;
  std::thread loop_;
};

}  // namespace sagabox::testing
