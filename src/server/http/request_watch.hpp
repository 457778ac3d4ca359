#pragma once

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <string_view>

namespace sagabox::server {

/// A request that was answered.
struct AnsweredRequest {
  std::string_view method;      ///< empty: not HTTP
  std::string_view request_id;  ///< its own, if it has one
  std::string_view operation;   ///< "none": an unknown path, or not HTTP
  std::string_view key_id;      ///< empty: without a key
  unsigned status = 0;
  Duration took{};  ///< from its header to its answer
};

/// Counts requests and logs a line for each. Thread-safe.
class RequestWatch {
 public:
  /// `level` is that of these lines. Metrics and log must outlive it.
  RequestWatch(Metrics& metrics, Logger& log, LogLevel level);

  void answered(const AnsweredRequest& answered);
  void connections(std::size_t count) { connections_.set(static_cast<double>(count)); }

 private:
  Metrics& metrics_;
  Logger& log_;
  LogLevel level_;
  Gauge& connections_;
};

}  // namespace sagabox::server
