#include "admin/answer.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <cstddef>

namespace sagabox::admin {

const spi::ShardOwner* owner_of(std::span<const spi::ShardOwner> owners, Shard shard) {
  const auto found = std::ranges::find_if(
      owners, [&](const spi::ShardOwner& one) { return one.shard == shard && !one.owner.empty(); });
  return found == owners.end() ? nullptr : &*found;
}

std::string owner_text(const spi::ShardOwner* owner) {
  if (owner == nullptr) return "nobody";
  return owner->owner.str() +
         (owner->lease_left > Duration::zero() ? ", lease " + age_text(owner->lease_left) + " left"
                                               : ", lease has run out") +
         ", epoch " + std::to_string(owner->epoch.value);
}

void add_answer_line(std::string& text, std::string_view label, std::string_view line) {
  constexpr std::size_t label_width = 11;
  text += '\n';
  text += label;
  text.append(label_width - label.size(), ' ');
  text += line;
}

}  // namespace sagabox::admin
