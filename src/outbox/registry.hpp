#pragma once

#include <sagabox/delivery.hpp>
#include <sagabox/metrics.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sagabox::outbox {

/// The instruments of one topic, looked up once.
struct TopicFigures {
  TopicFigures(Metrics& metrics, std::string_view table, std::string_view topic);
  Counter& done;
  Counter& retry;
  Counter& dead;
  Counter& parked;
  Counter& retries;
  Counter& timeouts;
  Histogram& seconds;
};

struct Route {
  std::string type;
  std::string topic;
  Listener listener;
  std::unique_ptr<TopicFigures> figures;

  [[nodiscard]] bool serves(const Message& message) const noexcept {
    return message.topic() == topic && message.aggregate_type() == type;
  }
};

/// One listener for each (aggregate type, topic). Filled before the start, then only read, so that
/// it needs no lock.
class Registry {
 public:
  Registry(Metrics& metrics, std::string table) : metrics_(metrics), table_(std::move(table)) {}

  /// TX.INVALID_STATE for a second listener, TX.INVALID_HANDLER for an empty one.
  Status add(const AggregateType& type, const Topic& topic, Listener listener);
  [[nodiscard]] const Route* find(std::string_view type, std::string_view topic) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  template <class Value>
  using ByName = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

  Metrics& metrics_;
  std::string table_;
  ByName<ByName<Route>> routes_;  // aggregate type → topic
};

/// Runs listeners with their interceptors and turns whatever they do into an outcome.
class Invoker {
 public:
  Invoker(const Registry& registry, std::vector<std::shared_ptr<Interceptor>> interceptors,
          std::size_t error_bytes_max, class Logger& log)
      : registry_(registry),
        interceptors_(std::move(interceptors)),
        error_bytes_max_(error_bytes_max),
        log_(log) {}

  /// Error texts come out cut and cleaned.
  [[nodiscard]] Outcome invoke(const Delivery& delivery) const noexcept {
    return invoke(delivery, route(delivery.message()));
  }
  /// With the route found before; null where there is none.
  [[nodiscard]] Outcome invoke(const Delivery& delivery, const Route* found) const noexcept;
  [[nodiscard]] const Route* route(const Message& message) const {
    return registry_.find(message.aggregate_type(), message.topic());
  }

 private:
  [[nodiscard]] Outcome call(const Delivery& delivery, const Route* found,
                             std::size_t& entered) const;
  void leave(const Delivery& delivery, const Outcome& outcome, std::size_t entered) const noexcept;

  const Registry& registry_;
  std::vector<std::shared_ptr<Interceptor>> interceptors_;
  std::size_t error_bytes_max_;
  Logger& log_;
};

}  // namespace sagabox::outbox
