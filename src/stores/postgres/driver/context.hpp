#pragma once

#include "stores/postgres/driver/names.hpp"
#include "stores/postgres/driver/pool.hpp"
#include "stores/postgres/driver/session.hpp"
#include "stores/postgres/operate/migrations.hpp"
#include "stores/postgres/outbox/insert.hpp"
#include "stores/postgres/outbox/vacuum.hpp"
#include "stores/sql/hub_events.hpp"
#include "stores/sql/inbox.hpp"
#include "stores/sql/saga_inbox.hpp"

#include <sagabox/stores/postgres.hpp>

#include <cstdint>

namespace sagabox::postgres {

/// Shared by the roles of one store. Thread-safe.
struct Context {
  Context(const Names& with_names, const ConnectSettings& settings, const Options& options,
          sql::Sections& sections)
      : names(with_names),
        shards(options.shards),
        notify(options.notify),
        claim_rows_max(options.claim_rows_max),
        writers(for_writers(settings), limits(options, options.writers_max), "transactions"),
        relay(settings, limits(options, options.relay_connections_max), "relays"),
        owners(settings, limits(options, 1), "shard ownership"),
        leases(settings, limits(options, 1), "lease renewals"),
        requests(for_requests(settings), limits(options, options.writers_max), "requests"),
        sagas(for_requests(settings), limits(options, options.relay_connections_max), "sagas"),
        hub(for_hub(settings), limits(options, options.relay_connections_max), "the hub"),
        migrations(sections, with_names, settings, options.shards),
        inserts(with_names),
        inbox(sections),
        saga_inbox(sections),
        hub_publish(sections),
        vacuum(with_names, settings, {.rows_min = options.vacuum_after}) {}

  static Pool::Limits limits(const Options& options, std::uint32_t connections_max) {
    return {.connections_max = connections_max, .wait_max = options.connection_wait_max};
  }

  /// Planning again would cost more than a small insert, and the user's transaction may be idle for
  /// any time.
  static ConnectSettings for_writers(ConnectSettings settings) {
    settings.custom_plans = false;
    settings.idle_max = {};
    return settings;
  }

  /// Every statement there has an index, so each is planned once.
  static ConnectSettings for_requests(ConnectSettings settings) {
    settings.custom_plans = false;
    settings.index_scans_only = true;
    return settings;
  }

  static ConnectSettings for_hub(ConnectSettings settings) {
    settings.custom_plans = false;
    settings.index_scans_only = true;
    settings.in_index_order = true;
    return settings;
  }

  const Names names;
  const std::uint16_t shards;
  bool notify;  ///< never behind a pooler: nothing stays with us that could be reached
  std::uint32_t claim_rows_max;
  /// The relay must not eat the connections of the business, and nobody those of the heartbeats.
  Pool writers;
  Pool relay;  ///< reading, settling, operators
  PostgresSessions sessions{relay};
  Pool owners;  ///< joining, taking and releasing shards
  PostgresSessions owner_sessions{owners};
  Pool leases;  ///< renewals only
  PostgresSessions lease_sessions{leases};
  Pool requests;  ///< records of requests, and the upkeep of the inbox
  PostgresSessions request_sessions{requests};
  Pool sagas;  ///< reads and writes of the sagas' owners
  PostgresSessions saga_sessions{sagas};
  Pool hub;  ///< all roles of the delivery hub except publishing
  PostgresSessions hub_sessions{hub};
  Migrations migrations;
  InsertCache inserts;
  const sql::InboxStatements inbox;
  const sql::SagaInboxStatements saga_inbox;
  const sql::HubPublishStatements hub_publish;
  Vacuum vacuum;
};

}  // namespace sagabox::postgres
