#pragma once

#include <sagabox/spi/schema_store.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sagabox {

/// What every store can be opened with; a store's own header has the rest.
struct StoreOptions {
  /// Of every outbox; those that are there must have been made with the same.
  std::uint16_t shards = 16;
  /// Where our tables are, for databases that have schemas.
  std::string schema = "sagabox";
};

/// The store that a URL names: `sqlite:orders.db`, `postgres://user@host:5432/database`, `memory:`.
/// CONFIG.INVALID for one that this build does not have; the text says which it has.
Result<std::unique_ptr<Store>> open_store(const std::string& url, const StoreOptions& options = {});

/// The schema of that store, also where nothing was made yet: nothing is opened or connected to.
/// CONFIG.INVALID as above, and for `memory:`, which has none.
Result<std::unique_ptr<spi::SchemaStore>> open_schema(const std::string& url,
                                                      const StoreOptions& options = {});

/// The transport to a server, by its URL: `redis://`, `rediss://`, `amqp://`, `amqps://`,
/// `mqtt://`, `mqtts://`, `nats://`, `kafka://host:9092,host:9092`; and those that need no server:
/// `http:`, `file:`. Everything but the URL as its header's defaults are.
Result<std::unique_ptr<spi::Transport>> open_transport(const std::string& url);

/// How the URLs of the stores in this build begin: "memory:", "postgres://" …
std::vector<std::string> store_schemes();
/// The same of the transports.
std::vector<std::string> transport_schemes();

}  // namespace sagabox
