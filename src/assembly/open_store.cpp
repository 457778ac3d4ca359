#include "assembly/schemes.hpp"

#include <sagabox/open.hpp>
#include <sagabox/stores/memory.hpp>
#ifdef SAGABOX_POSTGRES
#include <sagabox/stores/postgres.hpp>
#endif
#ifdef SAGABOX_SQLITE
#include <sagabox/stores/sqlite.hpp>
#endif

#include <array>
#include <string_view>

namespace sagabox {
namespace {

using Opened = Result<std::unique_ptr<Store>>;

using Scheme = assembly::Scheme<Opened (*)(const std::string& url, const StoreOptions& options)>;

Opened open_memory(const std::string&, const StoreOptions& options) {
  memory::Options memory_options;
  memory_options.shards = options.shards;
  return std::unique_ptr<Store>(std::make_unique<memory::MemoryStore>(memory_options));
}

#ifdef SAGABOX_POSTGRES
Opened open_postgres(const std::string& url, const StoreOptions& options) {
  return postgres::open(url, {.schema = options.schema, .shards = options.shards});
}
#else
constexpr auto open_postgres = nullptr;
#endif

constexpr std::string_view sqlite_scheme = "sqlite:";
#ifdef SAGABOX_SQLITE
Opened open_sqlite(const std::string& url, const StoreOptions&) {
  return sqlite::open(url.substr(sqlite_scheme.size()));
}
#else
constexpr auto open_sqlite = nullptr;
#endif

constexpr std::string_view no_sqlite = "built without SQLite, or with SAGABOX_SQLITE=OFF";
constexpr std::string_view no_postgres = "built without libpq, or with SAGABOX_POSTGRES=OFF";

constexpr std::array schemes{
    Scheme{"memory:", open_memory},
    Scheme{sqlite_scheme, open_sqlite, no_sqlite},
    Scheme{"postgres://", open_postgres, no_postgres},
    Scheme{"postgresql://", open_postgres, no_postgres},
};

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& url, const StoreOptions& options) {
  const auto found = assembly::find<Scheme>(schemes, url, "store");
  return found.ok() ? (*found)->open(url, options) : found.error();
}

std::vector<std::string> store_schemes() { return assembly::names<Scheme>(schemes); }

}  // namespace sagabox
