#pragma once

#include <sagabox/delivery.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/sink.hpp>

#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sagabox::outbox {

/// The instruments of one topic, looked up once.
struct TopicMetrics {
  TopicMetrics(Metrics& metrics, std::string_view table, std::string_view topic);
  Counter& done;
  Counter& done_after_retry;
  Counter& retry;
  Counter& dead;
  Counter& parked;
  Counter& retries;
  Counter& timeouts;
  Histogram& seconds_done;
  Histogram& seconds_failed;
};

struct Route {
  std::string type;
  std::string topic;
  Listener listener;  ///< empty: the sink takes it
  std::unique_ptr<TopicMetrics> figures;

  [[nodiscard]] bool serves(const Message& message) const noexcept {
    return message.topic() == topic && message.aggregate_type() == type;
  }
};

/// One listener for each (aggregate type, topic), and the sink for messages without a listener.
/// Listeners are added before the start, then only read, so that they need no lock.
class Registry {
 public:
  /// `sink` (null: none) outlives it.
  Registry(Metrics& metrics, std::string table, const spi::Sink* sink = nullptr)
      : metrics_(metrics), table_(std::move(table)), sink_(sink) {}

  /// TX.INVALID_STATE for a second listener, TX.INVALID_HANDLER for an empty one.
  Status add(const AggregateType& type, const Topic& topic, Listener listener);
  /// The route to a listener; null if there is none.
  [[nodiscard]] const Route* find(std::string_view type, std::string_view topic) const;
  /// Null if neither a listener nor the sink takes it.
  [[nodiscard]] const Route* route(const Message& message) const {
    const auto* const found = find(message.aggregate_type(), message.topic());
    return found != nullptr || sink_ == nullptr ? found : to_sink(message);
  }
  /// Says that nobody takes it, and what to do.
  [[nodiscard]] std::string unroutable(const Message& message) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  template <class Value>
  using ByName = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

  Metrics& metrics_;
  std::string table_;
  [[nodiscard]] Route made(const std::string& type, const std::string& topic,
                           Listener listener) const;
  [[nodiscard]] const Route* to_sink(const Message& message) const;

  const spi::Sink* sink_;
  ByName<ByName<Route>> routes_;  // aggregate type → topic
  mutable std::shared_mutex mutex_;
  mutable ByName<ByName<Route>> to_sink_;  // added at first use
  mutable std::size_t to_sink_count_ = 0;
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

  /// Error texts are truncated and sanitized.
  [[nodiscard]] Outcome invoke(const Delivery& delivery) const noexcept {
    return invoke(delivery, route(delivery.message()));
  }
  /// The same with a route found before; null if there is none.
  [[nodiscard]] Outcome invoke(const Delivery& delivery, const Route* found) const noexcept;
  /// For messages that the sink delivers: calls `before` of the interceptors. nullopt: it may be
  /// sent.
  [[nodiscard]] std::optional<Outcome> enter(const Delivery& delivery) const noexcept;
  /// Calls `after` of the interceptors. The error text is truncated and sanitized.
  void leave(const Delivery& delivery, Outcome& outcome) const noexcept;
  [[nodiscard]] const Route* route(const Message& message) const {
    return registry_.route(message);
  }

 private:
  void clean(const Delivery& delivery, Outcome& outcome) const;
  [[nodiscard]] Outcome call(const Delivery& delivery, const Route* found,
                             std::size_t& entered) const;
  void leave(const Delivery& delivery, const Outcome& outcome, std::size_t entered) const noexcept;

  const Registry& registry_;
  std::vector<std::shared_ptr<Interceptor>> interceptors_;
  std::size_t error_bytes_max_;
  Logger& log_;
};

}  // namespace sagabox::outbox
