#include "assembly/settings_of_stores.hpp"

#include "assembly/describe.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sagabox::assembly {
namespace {

using S = StoreSettings;
using Backends = std::vector<Backend>;

/// An option and the stores that have it.
struct StoreOption {
  Backends backends;
  Setting setting;
};

std::string names_of(const Backends& backends) {
  std::string names;
  for (const auto backend : backends) {
    names += (names.empty() ? "" : ", ") + std::string(backend_name(backend));
  }
  return names;
}

bool has(const Backends& backends, Backend backend) {
  return std::ranges::find(backends, backend) != backends.end();
}

StoreOption postgres_option(Setting setting) { return {{Backend::postgres}, std::move(setting)}; }
StoreOption sqlite_option(Setting setting) { return {{Backend::sqlite}, std::move(setting)}; }

template <class Member>
auto of_postgres(Member member) {
  return [member](auto& store) -> auto& { return store.backend.postgres.*member; };
}

template <class Member>
auto of_sqlite(Member member) {
  return [member](auto& store) -> auto& { return store.backend.sqlite.*member; };
}

StoreOption lock_max() {
  Setting setting = value<S>("lock_max", of_postgres(&postgres::Options::lock_max),
                             "longer waits for somebody's lock are a STORAGE.CONFLICT")
                        .between("1ms", "1h");
  setting.read = [read = setting.read](const Setting& self, void* holder, const std::string& text) {
    auto problem = read(self, holder, text);
    auto& backend = static_cast<S*>(holder)->backend;
    backend.sqlite.lock_max = backend.postgres.lock_max;
    return problem;
  };
  return {{Backend::postgres, Backend::sqlite}, std::move(setting)};
}

void add_postgres(std::vector<StoreOption>& all) {
  using O = postgres::Options;
  const auto add = [&](Setting setting) { all.push_back(postgres_option(std::move(setting))); };
  add(value<S>("writers_max", of_postgres(&O::writers_max), "transactions of ours at once")
          .between("1", "10000"));
  add(value<S>("relay_connections_max", of_postgres(&O::relay_connections_max),
               "connections that relays and operators share")
          .between("1", "1000"));
  add(value<S>(
      "notify", of_postgres(&O::notify),
      "relays sleep until a commit wakes them, over one more connection; false: they poll"));
  add(value<S>(
      "pooled", of_postgres(&O::pooled),
      "a pooler in transaction mode stands before the server; pgbouncer is found without"));
  add(value<S>("vacuum_after", of_postgres(&O::vacuum_after),
               "a relay vacuums its table after so many settled messages; 0: never")
          .between("0", "1000000000000"));
  add(value<S>("claim_rows_max", of_postgres(&O::claim_rows_max),
               "`claim: competing`: messages of others that a relay claims at once in a priority")
          .between("1", "1000"));
  add(value<S>("connection_wait_max", of_postgres(&O::connection_wait_max),
               "how long to wait for a connection that is in use")
          .between("1ms", "1h"));
  add(value<S>("connect_max", of_postgres(&O::connect_max), "longer is unreachable")
          .between("1ms", "1h"));
  add(value<S>("statement_max", of_postgres(&O::statement_max), "longer statements are cancelled")
          .between("1ms", "1d"));
}

void add_sqlite(std::vector<StoreOption>& all) {
  using O = sqlite::Options;
  const auto add = [&](Setting setting) { all.push_back(sqlite_option(std::move(setting))); };
  add(choice<S>("durability", of_sqlite(&O::durability),
                std::array{std::pair(std::string_view("full"), sqlite::Durability::full),
                           std::pair(std::string_view("normal"), sqlite::Durability::normal)},
                "what a commit survives: full: a power cut; normal: the end of the process"));
  add(value<S>("readers_max", of_sqlite(&O::readers_max),
               "connections that relays and operators read with")
          .between("1", "1000"));
  add(value<S>("wal_bytes_max", of_sqlite(&O::wal_bytes_max), "the write-ahead log is cut to this",
               Setting::Kind::bytes)
          .between("64KiB", "1024GiB"));
  add(value<S>("watch_interval", of_sqlite(&O::watch_interval),
               "how often to look for commits of other processes")
          .between("1ms", "1m"));
}

/// Records that the option was given; shows it only if the store has it.
Setting bound(StoreOption option) {
  auto& setting = option.setting;
  setting.doc = names_of(option.backends) + ": " + setting.doc;
  setting.read = [read = setting.read](const Setting& self, void* holder, const std::string& text) {
    static_cast<S*>(holder)->options_given.push_back(self.name);
    return read(self, holder, text);
  };
  setting.show = [show = setting.show,
                  backends = option.backends](const void* holder) -> std::optional<std::string> {
    const auto backend = backend_of(static_cast<const S*>(holder)->url);
    if (backend != Backend::unknown && !has(backends, backend)) return std::nullopt;
    return show(holder);
  };
  return std::move(setting);
}

std::vector<StoreOption> all_options() {
  std::vector<StoreOption> all;
  all.push_back(lock_max());
  add_postgres(all);
  add_sqlite(all);
  return all;
}

}  // namespace

std::vector<Setting> store_option_parts() {
  std::vector<Setting> parts;
  for (auto& option : all_options()) parts.push_back(bound(std::move(option)));
  return parts;
}

std::vector<std::string> wrong_store_options(const StoreSettings& store) {
  const auto backend = backend_of(store.url);
  if (backend == Backend::unknown || store.options_given.empty()) return {};
  const auto all = all_options();
  std::string own;
  for (const auto& option : all) {
    if (has(option.backends, backend)) own += (own.empty() ? "" : ", ") + option.setting.name;
  }
  std::vector<std::string> problems;
  for (const auto& name : store.options_given) {
    const auto option = std::ranges::find_if(
        all, [&](const StoreOption& known) { return known.setting.name == name; });
    if (option == all.end() || has(option->backends, backend)) continue;
    problems.push_back("stores." + store.name + "." + name + " is an option of " +
                       names_of(option->backends) + " stores, and this is a " +
                       std::string(backend_name(backend)) + " store, which has " +
                       (own.empty() ? "none of its own" : own));
  }
  return problems;
}

}  // namespace sagabox::assembly
