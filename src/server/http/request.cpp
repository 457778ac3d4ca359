#include "server/http/request.hpp"

#include "core/text.hpp"

namespace sagabox::server {

std::string fitting_header(const Request& request, std::string_view name, std::size_t length_max) {
  const auto value = request.header(name);
  const auto facts = text_facts(value);
  const bool fits =
      facts.characters <= length_max && facts.unprintable_at == std::string_view::npos;
  return fits ? std::string(value) : std::string();
}

}  // namespace sagabox::server
