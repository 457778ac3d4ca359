#pragma once

#include "server/http/tls_files.hpp"
#include "server/http/wire.hpp"

#include <sagabox/result.hpp>

#include <memory>
#include <mutex>

namespace sagabox::server {

/// The certificate and key for new connections. Thread-safe.
class Tls {
 public:
  /// CONFIG.INVALID names the file that is wrong.
  static Result<std::unique_ptr<Tls>> open(TlsFiles files);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  /// Reads the files again, for new connections. On an error the previous ones are kept.
  Status reload();
  std::unique_ptr<Wire> wire(boost::asio::io_context& context, AcceptedSocket socket);

 private:
  using Context = boost::asio::ssl::context;
  Tls(TlsFiles files, std::shared_ptr<Context> context);
  static Result<std::shared_ptr<Context>> read(const TlsFiles& files);

  const TlsFiles files_;
  std::mutex mutex_;
  std::shared_ptr<Context> context_;
};

}  // namespace sagabox::server
