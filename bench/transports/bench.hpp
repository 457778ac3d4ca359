#pragma once

#include "bench/measure.hpp"
#include "bench/report.hpp"

/// Transports alone, without an outbox, against their client library's own loop with the same
/// messages and headers, on the same server.
namespace sagabox::bench::transports {

void http_transport(const Size& size, Report& report);
/// From a PostgreSQL outbox, each message settled.
void http_durable(const Size& size, Report& report);
void nats_publish(const Size& size, Report& report);
void kafka_publish(const Size& size, Report& report);
void amqp_publish(const Size& size, Report& report);
void redis_publish(const Size& size, Report& report);
void mqtt_publish(const Size& size, Report& report);

}  // namespace sagabox::bench::transports
