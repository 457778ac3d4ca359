#include "server/http/tls.hpp"

#include "core/text.hpp"

#include <boost/asio/ssl/context.hpp>

#include <utility>

namespace sagabox::server {

namespace ssl = boost::asio::ssl;

Tls::Tls(TlsFiles files, std::shared_ptr<Context> context)
    : files_(std::move(files)), context_(std::move(context)) {}
Tls::~Tls() = default;

Result<std::shared_ptr<Tls::Context>> Tls::read(const TlsFiles& files) {
  auto made = std::make_shared<Context>(Context::tls_server);
  auto& context = *made;
  context.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                      ssl::context::no_sslv3 | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  const auto failed = [](const std::string& file, const boost::system::error_code& error) {
    return Error{Code::config_invalid, "TLS file " + quoted(file) + ": " + error.message() +
                                           "; give a certificate and its key as PEM files"};
  };
  boost::system::error_code error;
  context.use_certificate_chain_file(files.certificate, error);
  if (error) return failed(files.certificate, error);
  context.use_private_key_file(files.key, ssl::context::pem, error);
  if (error) return failed(files.key, error);
  // OpenSSL accepts a key of another type than the certificate's without a check.
  if (SSL_CTX_check_private_key(context.native_handle()) != 1) {
    return Error{Code::config_invalid, "TLS file " + quoted(files.key) +
                                           ": it is not the key of the certificate in " +
                                           quoted(files.certificate)};
  }
  return made;
}

Result<std::unique_ptr<Tls>> Tls::open(TlsFiles files) {
  auto context = read(files);
  if (!context.ok()) return context.error();
  return std::unique_ptr<Tls>(new Tls(std::move(files), std::move(*context)));
}

Status Tls::reload() {
  auto context = read(files_);
  if (!context.ok()) return context.error();
  const std::scoped_lock lock(mutex_);
  context_ = std::move(*context);
  return {};
}

std::unique_ptr<Wire> Tls::wire(boost::asio::io_context& context, AcceptedSocket socket) {
  const std::scoped_lock lock(mutex_);
  return tls_wire(context, socket, *context_);
}

}  // namespace sagabox::server
