#include "ownership/worker_id.hpp"

#include <string>

namespace sagabox::ownership {

WorkerId new_worker_id(UlidSource& ids, std::string_view name) {
  const auto ulid = ids.next<WorkerId>();
  if (name.empty()) return ulid;
  // Of its milliseconds what changes within hours, of its random part what changes within a
  // millisecond: also a host that comes back with the same process id has another id.
  const auto letters = ulid.view();
  return WorkerId::parse(std::string(name.substr(0, worker_name_max)) + "-" +
                         std::string(letters.substr(5, 5)) + std::string(letters.substr(21, 5)))
      .value();
}

}  // namespace sagabox::ownership
