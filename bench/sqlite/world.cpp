#include "bench/sqlite/world.hpp"

#include "bench/baselines/sqlite/link.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace sagabox::bench::sqlite {
namespace {

namespace fs = std::filesystem;

void bring_to_disk(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && fsync(file) == 0;
  if (file >= 0) close(file);
  if (!done) throw std::runtime_error("cannot sync " + path);
}

void remove_database(const std::string& path) {
  for (const auto* part : {"", "-wal", "-shm", "-owners"}) fs::remove(path + part);
}

}  // namespace

World::World() : folder_((fs::temp_directory_path() / "sagabox-bench-XXXXXX").string()) {
  if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("cannot make " + folder_);
  path_ = folder_ + "/bench.db";
}

World::~World() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string World::filled(std::int64_t rows) const {
  const auto path = fmt::format("{}/filled-{}.db", folder_, rows);
  if (fs::exists(path)) return path;
  {
    const auto store =
        sagabox::sqlite::open(path, {.durability = sagabox::sqlite::Durability::normal}).value();
    auto outbox = Outbox::writer_only(*store).value();
    write_messages(*store, outbox, static_cast<std::uint64_t>(rows));
  }
  by_hand::sqlite::Link link(path);
  link.sql("CREATE TABLE bench_orders (id INTEGER PRIMARY KEY, what TEXT)");
  link.sql("PRAGMA wal_checkpoint(TRUNCATE)");
  return path;
}

void World::fill(std::int64_t rows) {
  const auto from = filled(rows);
  remove_database(path_);
  fs::copy_file(from, path_);
  bring_to_disk(path_);
}

void World::require(std::int64_t pending, std::int64_t archived, std::int64_t orders) const {
  by_hand::sqlite::Link link(path_);
  const auto count = [&](const std::string& table) {
    return std::stoll(link.sql("SELECT count(*) FROM " + table));
  };
  const auto seen = fmt::format("{} pending, {} archived and {} dead messages and {} orders",
                                count("default_pending"), count("default_archive"),
                                count("default_dead"), count("bench_orders"));
  const auto wanted = fmt::format("{} pending, {} archived and {} dead messages and {} orders",
                                  pending, archived, 0, orders);
  if (seen != wanted) {
    throw std::runtime_error("the file has " + seen + ", and should have " + wanted);
  }
}

World& world() {
  static World only;
  return only;
}

}  // namespace sagabox::bench::sqlite
