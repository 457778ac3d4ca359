#include "server/tls.hpp"

#include "core/text.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <utility>

namespace sagabox::server {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;

struct Tls::Context {
  ssl::context context{ssl::context::tls_server};
};

namespace {

class TlsWire final : public Wire {
 public:
  TlsWire(Socket socket, ssl::context& context) : stream_(std::move(socket), context) {}

  void open(Done done) override {
    stream_.async_handshake(ssl::stream_base::server,
                            [done = std::move(done)](const ErrorCode& error) { done(error, 0); });
  }
  void read_some(asio::mutable_buffer into, Done done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void write(const Pieces& pieces, Done done) override {
    asio::async_write(stream_, pieces, std::move(done));
  }
  void end(Done done) override {
    // An error where the other side is still sending: it has been told by then.
    stream_.async_shutdown([this, done = std::move(done)](const ErrorCode&) {
      ErrorCode error;
      socket().shutdown(Socket::shutdown_send, error);
      done(error, 0);
    });
  }
  Socket& socket() override { return stream_.next_layer(); }

 private:
  ssl::stream<Socket> stream_;
};

}  // namespace

Tls::Tls(TlsFiles files, std::shared_ptr<Context> context)
    : files_(std::move(files)), context_(std::move(context)) {}
Tls::~Tls() = default;

Result<std::shared_ptr<Tls::Context>> Tls::read(const TlsFiles& files) {
  auto made = std::make_shared<Context>();
  auto& context = made->context;
  context.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                      ssl::context::no_sslv3 | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  const auto failed = [](const std::string& file, const Wire::ErrorCode& error) {
    return Error{Code::config_invalid, "TLS file " + quoted(file) + ": " + error.message() +
                                           "; give a certificate and its key as PEM files"};
  };
  Wire::ErrorCode error;
  context.use_certificate_chain_file(files.certificate, error);
  if (error) return failed(files.certificate, error);
  context.use_private_key_file(files.key, ssl::context::pem, error);
  if (error) return failed(files.key, error);
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

std::unique_ptr<Wire> Tls::wire(Wire::Socket socket) {
  const std::scoped_lock lock(mutex_);
  // OpenSSL keeps a context for as long as a connection uses it.
  return std::make_unique<TlsWire>(std::move(socket), context_->context);
}

}  // namespace sagabox::server
