#pragma once

#include <sagabox/open.hpp>
#include <sagabox/result.hpp>
#include <sagabox/stores/postgres.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// Which store a URL means.
namespace sagabox::assembly {

enum class Backend : std::uint8_t { unknown, memory, sqlite, postgres };

/// By the URL's scheme, whether or not this build has the store.
Backend backend_of(std::string_view url);
/// "PostgreSQL", as documents have it.
std::string_view backend_name(Backend backend) noexcept;

/// Options of each kind of store; a store ignores those of the others. `schema` and `shards` come
/// from StoreOptions instead.
struct BackendOptions {
  postgres::Options postgres{};
  sqlite::Options sqlite{};
};

Result<std::unique_ptr<Store>> open_store(const std::string& url, const StoreOptions& options,
                                          const BackendOptions& backend);

/// The store of daemons and tools if none is named.
inline constexpr const char* default_store_url = "sqlite:./sagabox.db";

/// For tools that look at a store that others made: CONFIG.INVALID where opening it would make a
/// new one, or where no other process can see it. Does not connect. Also CONFIG.INVALID for a URL
/// that this build cannot open.
Status check_store_there(const std::string& url);

}  // namespace sagabox::assembly
