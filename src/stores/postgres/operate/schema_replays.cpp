#include "stores/postgres/operate/schema_steps.hpp"

namespace sagabox::postgres {
namespace {

constexpr std::string_view replays_up = R"sql(
ALTER TABLE "{schema}".replay_job ADD COLUMN as_new boolean NOT NULL DEFAULT false;
)sql";

constexpr std::string_view replays_down = R"sql(
ALTER TABLE "{schema}".replay_job DROP COLUMN as_new;
)sql";

// This step does not change outboxes.
constexpr std::string_view replays_no_change = "SELECT 1;";

}  // namespace

Migration replays_step() noexcept {
  return {7, "replays", replays_up, replays_down, replays_no_change, replays_no_change};
}

}  // namespace sagabox::postgres
