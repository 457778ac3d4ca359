#pragma once

#include <sagabox/open.hpp>
#include <sagabox/result.hpp>
#include <sagabox/stores/postgres.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// The store of a URL.
namespace sagabox::assembly {

enum class Backend : std::uint8_t { unknown, memory, sqlite, postgres };

/// Determined by the URL's scheme, whether or not this build has the store.
Backend backend_of(std::string_view url);
/// "PostgreSQL", as in the documents.
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

/// For tools that inspect a store of other processes: CONFIG.INVALID if opening it would make a new
/// one, or if no other process can see it. Does not connect. Also CONFIG.INVALID for a URL that
/// this build cannot open.
Status check_store_there(const std::string& url);

}  // namespace sagabox::assembly
