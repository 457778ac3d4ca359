#pragma once

#include <sagabox/result.hpp>

#include <string>

/// What a tool knows of a store before it opens it.
namespace sagabox::assembly {

/// What a daemon opens, and a tool looks at, when no store is named.
inline constexpr const char* default_store_url = "sqlite:./sagabox.db";

/// For tools that look at a store that others made: CONFIG.INVALID where opening it would make a
/// new one, or where no other process can see it. Does not connect. Also CONFIG.INVALID for a URL
/// that this build cannot open.
Status check_store_there(const std::string& url);

/// Whether the store lives in one process, so that no tool can see what is in it.
bool is_store_in_process(const std::string& url);

}  // namespace sagabox::assembly
