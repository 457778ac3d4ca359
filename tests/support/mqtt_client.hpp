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

/// Subscribes and notes what arrives, on a thread of its own; the server keeps for it what comes
/// while it is away.
class MqttClient {
 public:
  /// A filter that ends with #.
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
  /// All that the server has had; waits until there are so many, or enough time is over.
  std::vector<Got> wait_for(const std::string& topic, std::size_t count);
  /// Whether it has subscribed before enough time is over.
  bool wait_for_subscription();
  /// Whether it has lost its connection before enough time is over.
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
