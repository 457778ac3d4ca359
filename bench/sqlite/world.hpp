#pragma once

#include "bench/workload.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace sagabox::bench::sqlite {

/// A file of this run's own with the outbox `default`, made by the library, and a table of orders.
/// Nobody else has it open while it is filled.
class World {
 public:
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::unique_ptr<Store> open(const sagabox::sqlite::Options& options = {}) const {
    return sagabox::sqlite::open(path_, options).value();
  }

  /// So many messages as `Outbox::write_all` writes them, and nothing else; all on the disk, the
  /// log empty. The same bytes every time.
  void fill(std::int64_t rows);
  void clear() { fill(0); }

  /// Counted from the tables; throws when it is something else.
  void require(std::int64_t pending, std::int64_t archived, std::int64_t orders = 0) const;

 private:
  /// Made once.
  std::string filled(std::int64_t rows) const;

  std::string folder_;
  std::string path_;
};

/// Made when first asked for; ends with the process. In TMPDIR: what a sync costs is its disk's.
World& world();

}  // namespace sagabox::bench::sqlite
