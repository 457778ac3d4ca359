#pragma once

#include "stores/sqlite/connection.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sagabox::sqlite {

/// Connections that only read, opened when first needed. Readers do not wait for the writer, nor
/// it for them. Thread-safe.
class Readers {
 public:
  /// A connection in use; its destructor returns it.
  class Lease {
   public:
    Lease(Readers& readers, std::unique_ptr<Connection> connection)
        : readers_(&readers), connection_(std::move(connection)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (connection_) readers_->release(std::move(connection_));
    }
    Connection& operator*() const noexcept { return *connection_; }
    Connection* operator->() const noexcept { return connection_.get(); }

   private:
    Readers* readers_;
    std::unique_ptr<Connection> connection_;
  };

  Readers(std::string path, Options options)
      : path_(std::move(path)), options_(std::move(options)) {}

  Result<Lease> take();

 private:
  void release(std::unique_ptr<Connection> connection);

  const std::string path_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t opened_ = 0;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace sagabox::sqlite
