#pragma once

#include <sagabox/id.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Steps of the schema, whatever the store. A store must be named by its URL: these work also where
/// nothing was made yet.
namespace sagabox::cli {

struct SchemaStep {
  int number = 0;
  std::string name{};
  std::string outbox{};  ///< empty: what all outboxes share
  std::optional<WallTime> applied_at{};
  std::uint16_t shards = 0;  ///< 0: none, or the store has no count of its own
};

struct SchemaPlace {
  std::string url;
  std::string schema = "sagabox";
  std::uint16_t shards = 16;  ///< of outboxes that are made
};

struct Reshard {
  std::uint16_t shards_before = 0;
  std::uint16_t shards = 0;
  std::uint64_t pending = 0;
  Duration blocked{};
  std::vector<WorkerId> relays{};
  bool changed = false;
};

Result<std::vector<SchemaStep>> schema_status(const SchemaPlace& place);
/// And makes this outbox, if one is named.
Status schema_up(const SchemaPlace& place, const std::string& outbox);
Status schema_down(const SchemaPlace& place, int to, bool force);

struct ReshardOrder {
  std::string outbox;
  bool force = false;
  bool dry_run = false;
};
/// To the count of `place`.
Result<Reshard> reshard(const SchemaPlace& place, const ReshardOrder& order);

}  // namespace sagabox::cli
