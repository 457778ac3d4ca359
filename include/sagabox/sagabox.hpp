#pragma once

/// Start here.
///
///   outbox.hpp       write messages in your transaction, listen to them
///   message.hpp      what a message is made of
///   delivery.hpp     what a listener gets and answers
///   router.hpp       send them elsewhere: topics to targets, over transports/
///   json_schema.hpp  what a topic's payloads must look like
///   limits.hpp       how fast, how many at once
///   admin.hpp        what an operator sees and does: list, explain, replay, pause, purge
///   store.hpp        a database; stores/memory.hpp opens one for tests
///   open.hpp         a store found by its URL
///   result.hpp       how calls say that something went wrong
///   retry.hpp        when a failed attempt is made again
///   metrics.hpp, audit.hpp, log.hpp, tracing.hpp   what is seen from outside
///   spi/             what a database has to provide
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
