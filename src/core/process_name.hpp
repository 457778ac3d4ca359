#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sagabox {

/// "relay-a:4711": the host and the process id, for people who look for a process. Printable, no
/// longer than `length_max`: of the host its first label, of a longer one its end, which is where
/// names of pods differ.
std::string process_name(std::string_view host, std::uint64_t pid, std::size_t length_max);

/// The name of this process.
std::string own_process_name(std::size_t length_max);

}  // namespace sagabox
