#pragma once

/// Start here.
///
///   outbox.hpp       write messages in your transaction, listen to them
///   message.hpp      the fields of a message
///   delivery.hpp     the input and result of a listener
///   router.hpp       send them elsewhere: topics to targets, over transports/
///   json_schema.hpp  schemas for the payloads of topics
///   limits.hpp       limits of rate and concurrency
///   admin.hpp        operators' queries and acts: list, explain, replay, pause, purge
///   store.hpp        a database; stores/memory.hpp opens one for tests
///   open.hpp         opens a store by its URL
///   result.hpp       the return type of calls that can fail
///   retry.hpp        when a failed attempt is repeated
///   metrics.hpp, audit.hpp, log.hpp, tracing.hpp   logs, metrics, traces, audit
///   spi/             the interfaces that a database implements
#include <sagabox/admin.hpp>
#include <sagabox/audit.hpp>
#include <sagabox/delivery.hpp>
#include <sagabox/error.hpp>
#include <sagabox/explanation.hpp>
#include <sagabox/id.hpp>
#include <sagabox/json_schema.hpp>
#include <sagabox/limits.hpp>
#include <sagabox/log.hpp>
#include <sagabox/message.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/outbox.hpp>
#include <sagabox/payload.hpp>
#include <sagabox/random.hpp>
#include <sagabox/records.hpp>
#include <sagabox/result.hpp>
#include <sagabox/retry.hpp>
#include <sagabox/router.hpp>
#include <sagabox/store.hpp>
#include <sagabox/time.hpp>
#include <sagabox/tracing.hpp>
