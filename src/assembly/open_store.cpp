#include "assembly/open_store.hpp"

#include "assembly/schemes.hpp"

#include <sagabox/open.hpp>
#include <sagabox/stores/memory.hpp>

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace sagabox {
namespace {

using Opened = Result<std::unique_ptr<Store>>;
using assembly::BackendOptions;
using OpenedSchema = Result<std::unique_ptr<spi::SchemaStore>>;

/// Opens one kind of store by its URL.
struct StoreKind {
  Opened (*open)(const std::string& url, const StoreOptions& options,
                 const BackendOptions& backend);
  OpenedSchema (*open_schema)(const std::string& url, const StoreOptions& options);
  /// See `check_store_there`.
  Status (*check_there)(const std::string& url);
};
using Scheme = assembly::Scheme<const StoreKind*>;

constexpr std::string_view memory_scheme = "memory:";
constexpr StoreKind memory_kind{
    .open = [](const std::string&, const StoreOptions& options, const BackendOptions&) -> Opened {
      memory::Options memory_options;
      memory_options.shards = options.shards;
      return std::unique_ptr<Store>(std::make_unique<memory::MemoryStore>(memory_options));
    },
    .open_schema = [](const std::string&, const StoreOptions&) -> OpenedSchema {
      return Error{Code::config_invalid,
                   "memory: has no schema; there is nothing to migrate or reshard"};
    },
    .check_there = [](const std::string&) -> Status {
      return Error{Code::config_invalid,
                   "memory: is another store in every process; there is nothing in it to see"};
    }};

constexpr std::string_view postgres_scheme = "postgres://";
constexpr std::string_view postgresql_scheme = "postgresql://";
constexpr std::string_view no_postgres = "built without libpq, or with SAGABOX_POSTGRES=OFF";
#ifdef SAGABOX_POSTGRES
postgres::Options postgres_options(const StoreOptions& options, postgres::Options backend) {
  backend.schema = options.schema;
  backend.shards = options.shards;
  return backend;
}

constexpr StoreKind postgres_store{
    .open =
        [](const std::string& url, const StoreOptions& options, const BackendOptions& backend) {
          return postgres::open(url, postgres_options(options, backend.postgres));
        },
    .open_schema =
        [](const std::string& url, const StoreOptions& options) {
          return postgres::open_schema(url, postgres_options(options, {}));
        },
    .check_there = [](const std::string&) { return Status(); }};
constexpr const StoreKind* postgres_kind = &postgres_store;
#else
constexpr const StoreKind* postgres_kind = nullptr;
#endif

constexpr std::string_view sqlite_scheme = "sqlite:";
constexpr std::string_view no_sqlite = "built without SQLite, or with SAGABOX_SQLITE=OFF";
#ifdef SAGABOX_SQLITE
std::string path_of(const std::string& url) { return url.substr(sqlite_scheme.size()); }

Status check_file_there(const std::string& url) {
  const auto path = path_of(url);
  std::error_code ignored;
  if (path.empty() || std::filesystem::exists(path, ignored)) return {};
  return Error{Code::config_invalid, "there is no file " + path +
                                         "; sagabox migrate up --table NAME --store " + url +
                                         " makes it"};
}

constexpr StoreKind sqlite_store{
    .open =
        [](const std::string& url, const StoreOptions&, const BackendOptions& backend) {
          return sqlite::open(path_of(url), backend.sqlite);
        },
    .open_schema = [](const std::string& url,
                      const StoreOptions&) { return sqlite::open_schema(path_of(url)); },
    .check_there = check_file_there};
constexpr const StoreKind* sqlite_kind = &sqlite_store;
#else
constexpr const StoreKind* sqlite_kind = nullptr;
#endif

constexpr std::array schemes{
    Scheme{memory_scheme, &memory_kind},
    Scheme{sqlite_scheme, sqlite_kind, no_sqlite},
    Scheme{postgres_scheme, postgres_kind, no_postgres},
    Scheme{postgresql_scheme, postgres_kind, no_postgres},
};

Result<const StoreKind*> kind_of(const std::string& url) {
  const auto found = assembly::find<Scheme>(schemes, url, "store");
  if (!found.ok()) return found.error();
  return (*found)->open;
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& url, const StoreOptions& options) {
  return assembly::open_store(url, options, {});
}

Result<std::unique_ptr<spi::SchemaStore>> open_schema(const std::string& url,
                                                      const StoreOptions& options) {
  const auto kind = kind_of(url);
  return kind.ok() ? (*kind)->open_schema(url, options) : kind.error();
}

std::vector<std::string> store_schemes() { return assembly::names<Scheme>(schemes); }

namespace assembly {

Status check_store_there(const std::string& url) {
  const auto kind = kind_of(url);
  return kind.ok() ? (*kind)->check_there(url) : kind.error();
}

Backend backend_of(std::string_view url) {
  if (url.starts_with(memory_scheme)) return Backend::memory;
  if (url.starts_with(sqlite_scheme)) return Backend::sqlite;
  const bool postgres = url.starts_with(postgres_scheme) || url.starts_with(postgresql_scheme);
  return postgres ? Backend::postgres : Backend::unknown;
}

std::string_view backend_name(Backend backend) noexcept {
  switch (backend) {
    case Backend::memory:
      return "memory";
    case Backend::sqlite:
      return "SQLite";
    case Backend::postgres:
      return "PostgreSQL";
    case Backend::unknown:
      break;
  }
  return "unknown";
}

Result<std::unique_ptr<Store>> open_store(const std::string& url, const StoreOptions& options,
                                          const BackendOptions& backend) {
  const auto kind = kind_of(url);
  return kind.ok() ? (*kind)->open(url, options, backend) : kind.error();
}

}  // namespace assembly

}  // namespace sagabox
