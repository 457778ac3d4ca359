#include "assembly/open_store.hpp"

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
#include <filesystem>
#include <string_view>
#include <system_error>

namespace sagabox {
namespace {

using Opened = Result<std::unique_ptr<Store>>;
using OpenedSchema = Result<std::unique_ptr<spi::SchemaStore>>;

/// What a URL is to one kind of store.
struct StoreKind {
  Opened (*open)(const std::string& url, const StoreOptions& options);
  OpenedSchema (*open_schema)(const std::string& url, const StoreOptions& options);
  /// See `check_store_there`.
  Status (*check_there)(const std::string& url);
};
using Scheme = assembly::Scheme<const StoreKind*>;

constexpr std::string_view memory_scheme = "memory:";
constexpr StoreKind memory_kind{
    .open = [](const std::string&, const StoreOptions& options) -> Opened {
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

constexpr std::string_view no_postgres = "built without libpq, or with SAGABOX_POSTGRES=OFF";
#ifdef SAGABOX_POSTGRES
postgres::Options postgres_options(const StoreOptions& options) {
  return {.schema = options.schema, .shards = options.shards};
}

constexpr StoreKind postgres_store{.open =
                                       [](const std::string& url, const StoreOptions& options) {
                                         return postgres::open(url, postgres_options(options));
                                       },
                                   .open_schema =
                                       [](const std::string& url, const StoreOptions& options) {
                                         return postgres::open_schema(url,
                                                                      postgres_options(options));
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
    .open = [](const std::string& url, const StoreOptions&) { return sqlite::open(path_of(url)); },
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
    Scheme{"postgres://", postgres_kind, no_postgres},
    Scheme{"postgresql://", postgres_kind, no_postgres},
};

Result<const StoreKind*> kind_of(const std::string& url) {
  const auto found = assembly::find<Scheme>(schemes, url, "store");
  if (!found.ok()) return found.error();
  return (*found)->open;
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& url, const StoreOptions& options) {
  const auto kind = kind_of(url);
  return kind.ok() ? (*kind)->open(url, options) : kind.error();
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

bool is_store_in_process(const std::string& url) { return url.starts_with(memory_scheme); }

}  // namespace assembly

}  // namespace sagabox
