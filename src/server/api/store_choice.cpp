#include "server/api/store_choice.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <vector>

namespace sagabox::server {

Result<Store*> store_named(const ApiOptions& options, const std::optional<std::string>& name) {
  Store* found = nullptr;
  std::vector<std::string> names;
  for (const auto& table : options.tables) {
    if (std::ranges::find(names, table.store_name) == names.end()) {
      names.push_back(table.store_name);
    }
    if (!name || *name == table.store_name) found = table.store;
  }
  if (found != nullptr && (name || names.size() == 1)) return found;
  std::string list;
  for (const auto& one : names) list += (list.empty() ? "" : ", ") + one;
  return Error{Code::request_invalid,
               "store: " + (name ? quoted(*name) + " is not served" : std::string("missing")) +
                   "; there are " + list};
}

}  // namespace sagabox::server
