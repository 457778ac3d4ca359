#pragma once

#include <sagabox/spi/schema_store.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sagabox {

/// Options that every store has; further options are in the header of each store.
struct StoreOptions {
  /// The number of shards of every outbox; existing outboxes must have been created with the same
  /// number.
  std::uint16_t shards = 16;
  /// The schema of our tables, for databases that have schemas.
  std::string schema = "sagabox";
};

/// The store that a URL names: `sqlite:orders.db`, `postgres://user@host:5432/database`, `memory:`.
/// CONFIG.INVALID for a store that this build does not have; the text lists the available ones.
Result<std::unique_ptr<Store>> open_store(const std::string& url, const StoreOptions& options = {});

/// The schema of that store, also if it has no tables yet. Does not open or connect to anything.
/// CONFIG.INVALID as above, and for `memory:`, which has no schema.
Result<std::unique_ptr<spi::SchemaStore>> open_schema(const std::string& url,
                                                      const StoreOptions& options = {});

/// Opens the transport to a server, selected by its URL: `redis://`, `rediss://`, `amqp://`,
/// `amqps://`, `mqtt://`, `mqtts://`, `nats://`, `kafka://host:9092,host:9092`; or one that needs
/// no server: `http:`, `file:`. All other options have the defaults of its header.
Result<std::unique_ptr<spi::Transport>> open_transport(const std::string& url);

/// The URL schemes of the stores in this build: "memory:", "postgres://" …
std::vector<std::string> store_schemes();
/// The same for the transports.
std::vector<std::string> transport_schemes();

}  // namespace sagabox
