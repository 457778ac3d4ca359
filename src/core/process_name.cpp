#include "core/process_name.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace sagabox {

std::string process_name(std::string_view host, std::uint64_t pid, std::size_t length_max) {
  const auto number = ":" + std::to_string(pid);
  auto label = std::string(host.substr(0, host.find('.')));
  for (auto& letter : label) {
    if (letter <= ' ' || letter > '~') letter = '_';
  }
  const auto room = length_max - std::min(length_max, number.size());
  if (label.size() > room) label.erase(0, label.size() - room);
  return (label + number).substr(0, length_max);
}

std::string own_process_name(std::size_t length_max) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return process_name(host.data(), static_cast<std::uint64_t>(getpid()), length_max);
}

}  // namespace sagabox
