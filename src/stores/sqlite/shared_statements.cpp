#include "stores/sqlite/statements.hpp"

namespace sagabox::sqlite {
namespace {

/// ?1 outbox, ?2 to ?7 by how much each changes, ?8 the highest sequence that is no
/// longer in the normal lane.
constexpr std::string_view count_sql = R"sql(
UPDATE sagabox_outbox
SET seq = max(seq, ?8), gone = gone + ?2, waiting = waiting + ?3, done = done + ?4, dead = dead + ?5,
    quarantined = quarantined + ?6, taken = taken + ?7
WHERE name = ?1
)sql";

/// Who owns a shard: ?1 scope, ?2 shard, ?3 owner, ?4 epoch. There is one writer: it stays so until
/// the transaction ends.
constexpr std::string_view hold_sql = R"sql(
SELECT 1 FROM sagabox_owner WHERE scope = ?1 AND shard = ?2 AND owner = ?3 AND epoch = ?4
)sql";

}  // namespace

SharedStatements::SharedStatements() : count{std::string(count_sql)}, hold{std::string(hold_sql)} {}

}  // namespace sagabox::sqlite
