#include <sagabox/open.hpp>
#include <sagabox/stores/memory.hpp>
#ifdef SAGABOX_POSTGRES
#include <sagabox/stores/postgres.hpp>
#endif
#ifdef SAGABOX_SQLITE
#include <sagabox/stores/sqlite.hpp>
#endif

#include <algorithm>
#include <array>
#include <string_view>

namespace sagabox {
namespace {

using Opened = Result<std::unique_ptr<Store>>;

struct Scheme {
  std::string_view begin;                                               ///< of the URL
  Opened (*open)(const std::string& url, const StoreOptions& options);  ///< null: left out
  std::string_view left_out{};                                          ///< why
};

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

std::string available() {
  std::string list;
  for (const auto& name : store_schemes()) list += (list.empty() ? "" : ", ") + name;
  return "this build has " + list;
}

/// Nothing behind the scheme is shown: it may have a password.
Error unknown(std::string_view url) {
  const auto end = url.find(':');
  const std::string_view scheme = url.substr(0, end);
  const bool named =
      end != std::string_view::npos && !scheme.empty() && std::ranges::all_of(scheme, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '+' || c == '-' || c == '.';
      });
  return {Code::config_invalid, (named ? "there is no store for \"" + std::string(scheme) + ":\""
                                       : std::string("the store's URL has no scheme")) +
                                    "; " + available()};
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& url, const StoreOptions& options) {
  const auto scheme = std::ranges::find_if(
      schemes, [&](const Scheme& known) { return url.starts_with(known.begin); });
  if (scheme == schemes.end()) return unknown(url);
  if (scheme->open == nullptr) {
    return Error{Code::config_invalid, std::string(scheme->begin) +
                                           " was left out of this build (" +
                                           std::string(scheme->left_out) + "); " + available()};
  }
  return scheme->open(url, options);
}

std::vector<std::string> store_schemes() {
  std::vector<std::string> names;
  for (const auto& scheme : schemes) {
    if (scheme.open != nullptr) names.emplace_back(scheme.begin);
  }
  return names;
}

}  // namespace sagabox
