#include "admin/replay_notes.hpp"

namespace sagabox::admin {

std::vector<std::string> replay_notes(const ReplayOrder& order, std::uint64_t matched,
                                      std::uint64_t older) {
  std::vector<std::string> notes;
  if (matched == 0) return notes;
  if (order.as_new) {
    notes.emplace_back("consumers that ask an inbox handle them again, as new messages");
    return notes;
  }
  if (order.from == MessageState::done && older < matched) {
    notes.emplace_back(
        "consumers that ask an inbox skip what they have handled; replay them as new to have them "
        "handled again");
  }
  if (older > 0) {
    notes.push_back(std::to_string(older) +
                    " of them ended longer ago than inboxes keep keys: consumers may handle them a "
                    "second time");
  }
  return notes;
}

}  // namespace sagabox::admin
