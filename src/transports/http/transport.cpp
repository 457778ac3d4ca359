#include "core/curl_bounds.hpp"
#include "core/text.hpp"
#include "transports/http/courier.hpp"
#include "transports/http/header_rules.hpp"
#include "transports/http/probe.hpp"

#include <sagabox/transports/http.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

namespace sagabox::http {
namespace {

using Kind = spi::SendResult::Kind;

constexpr std::uint32_t in_flight_ceiling = 1'000'000;
/// The delay of parcels when all exchanges are in use.
constexpr Duration full_wait = std::chrono::milliseconds(50);
constexpr std::size_t endpoints_swept_min = 1024;
/// Files that the rest of the process may have open.
constexpr std::uint64_t files_elsewhere = 256;

Error wrong_option(std::string text) { return {Code::config_invalid, std::move(text)}; }

Status check(const Options& options) {
  const auto in_bounds = [](std::uint32_t value) {
    return value > 0 && value <= in_flight_ceiling;
  };
  if (!in_bounds(options.in_flight_max) || !in_bounds(options.connections_max) ||
      !in_bounds(options.concurrency)) {
    return wrong_option("in_flight_max, connections_max and concurrency are from 1 to " +
                        std::to_string(in_flight_ceiling));
  }
  if (options.connect_max <= Duration::zero())
    return wrong_option("connect_max: must be more than 0");
  if (!options.ca_file.empty() && access(options.ca_file.c_str(), R_OK) != 0) {
    return wrong_option("ca_file: " + quoted(options.ca_file) + " cannot be read");
  }
  return {};
}

spi::SendResult closed() { return {Kind::unreachable, "the HTTP transport is closed"}; }

spi::SendResult too_many(std::uint32_t in_flight_max) {
  return {Kind::later,
          "in_flight_max: " + std::to_string(in_flight_max) + " requests are under way already",
          full_wait};
}

class HttpTransport final : public spi::Transport, Exchanges {
 public:
  HttpTransport(Options options, AddressGuard guard)
      : options_(std::move(options)), guard_(std::move(guard)) {}
  ~HttpTransport() override { close(options_.clock->boot_now()); }

  Status start();

  [[nodiscard]] spi::TransportTraits traits() const override {
    return {.keeps_order = false, .in_flight_max = options_.in_flight_max};
  }
  Result<std::shared_ptr<const spi::Address>> address(
      std::string_view text, const spi::AddressSettings& settings) override;
  void send(std::span<spi::Parcel> parcels, spi::SendResults& results) override;
  Result<std::vector<std::string>> findings(BootTime deadline) override;
  void close(BootTime deadline) override;

 private:
  void return_ended(std::span<Exchange* const> ended) override;
  struct Entered {
    std::vector<Exchange*> exchanges;  ///< as many as there was room for
    bool closing = false;
  };
  /// Counts a sender in `send`, for which `close` waits.
  class Visit;
  Entered enter(std::size_t count);
  /// Allocates one more exchange; returns false without memory.
  bool make_room();
  /// Returns nullopt, or why it cannot be sent.
  std::optional<spi::SendResult> prepare(Exchange& exchange, spi::Parcel& parcel, BootTime now);
  [[nodiscard]] static spi::SendResult denied(std::string why);
  std::optional<spi::SendResult> find_credentials(const Exchange& exchange, Headers& headers) const;
  std::shared_ptr<Endpoint> endpoint(const std::string& name);
  /// The endpoints of addresses that are still referenced.
  std::vector<std::string> endpoints_in_use();

  const Options options_;
  const AddressGuard guard_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Exchange>> all_;
  std::vector<Exchange*> free_;
  std::size_t in_flight_ = 0;
  std::size_t senders_ = 0;
  bool closing_ = false;
  std::unordered_map<std::string, std::weak_ptr<Endpoint>> endpoints_;
  std::size_t sweep_at_ = endpoints_swept_min;

  std::mutex close_mutex_;
  std::unique_ptr<Courier> courier_;  // last member: it gives back to the others until it ends
};

Status HttpTransport::start() {
  auto courier = Courier::start({.guard = guard_,
                                 .ca_file = options_.ca_file,
                                 .connect_max = options_.connect_max,
                                 .resolve = options_.resolve,
                                 .connections_max = options_.connections_max,
                                 .clock = options_.clock},
                                *this);
  if (!courier) return courier.error();
  courier_ = std::move(courier).value();
  return {};
}

std::shared_ptr<Endpoint> HttpTransport::endpoint(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  auto& known = endpoints_[name];
  auto endpoint = known.lock();
  if (!endpoint) known = endpoint = std::make_shared<Endpoint>();
  if (endpoints_.size() >= sweep_at_) {
    std::erase_if(endpoints_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max(endpoints_swept_min, endpoints_.size() * 2);
  }
  return endpoint;
}

Result<std::shared_ptr<const spi::Address>> HttpTransport::address(
    std::string_view text, const spi::AddressSettings& settings) {
  auto parsed = parse_address(text, settings,
                              {.guard = guard_,
                               .concurrency_default = options_.concurrency,
                               .concurrency_max = options_.connections_max});
  if (!parsed) return parsed.error();
  auto address = std::move(parsed).value();
  address->endpoint = endpoint(address->endpoint_name);
  return std::shared_ptr<const spi::Address>(std::move(address));
}

class HttpTransport::Visit {
 public:
  explicit Visit(HttpTransport& transport) : transport_(transport) {
    const std::scoped_lock lock(transport_.mutex_);
    ++transport_.senders_;
  }
  ~Visit() {
    const std::scoped_lock lock(transport_.mutex_);
    --transport_.senders_;
    if (transport_.closing_) transport_.changed_.notify_all();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  HttpTransport& transport_;
};

bool HttpTransport::make_room() {
  try {
    // Reserves room for all, because giving them back must not allocate memory.
    if (free_.capacity() <= all_.size()) free_.reserve(2 * all_.size() + 1);
    free_.push_back(all_.emplace_back(std::make_unique<Exchange>()).get());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

HttpTransport::Entered HttpTransport::enter(std::size_t count) {
  const std::scoped_lock lock(mutex_);
  Entered entered{.closing = closing_};
  if (closing_) return entered;
  auto& exchanges = entered.exchanges;
  exchanges.reserve(std::min<std::size_t>(count, options_.in_flight_max - in_flight_));
  while (exchanges.size() < count && in_flight_ < options_.in_flight_max) {
    if (free_.empty() && !make_room()) break;
    exchanges.push_back(free_.back());
    free_.pop_back();
    ++in_flight_;
  }
  return entered;
}

void HttpTransport::return_ended(std::span<Exchange* const> ended) {
  const std::scoped_lock lock(mutex_);
  free_.insert(free_.end(), ended.begin(), ended.end());
  in_flight_ -= ended.size();
  if (closing_) changed_.notify_all();
}

void HttpTransport::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  const Visit visit(*this);
  auto entered = enter(parcels.size());
  auto& exchanges = entered.exchanges;
  std::vector<Exchange*> unused;
  std::vector<std::pair<spi::Ticket, spi::SendResult>> told;
  const auto now = options_.clock->boot_now();
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    if (auto problem = prepare(*exchanges[i], parcels[i], now)) {
      told.emplace_back(parcels[i].ticket, std::move(*problem));
      unused.push_back(std::exchange(exchanges[i], nullptr));
    } else {
      exchanges[i]->results = &results;
    }
  }
  for (const auto& parcel : parcels.subspan(exchanges.size())) {
    told.emplace_back(parcel.ticket, entered.closing ? closed() : too_many(options_.in_flight_max));
  }
  if (!unused.empty()) {
    std::erase(exchanges, nullptr);
    for (auto* const exchange : unused) exchange->clear();
    return_ended(unused);
  }
  if (!exchanges.empty()) courier_->take(exchanges);
  for (auto& [ticket, result] : told) {
    result.reach = spi::Reach::not_sent;
    results.sent(ticket, std::move(result));
  }
}

std::optional<spi::SendResult> HttpTransport::prepare(Exchange& exchange, spi::Parcel& parcel,
                                                      BootTime now) {
  exchange.address = std::static_pointer_cast<const HttpAddress>(parcel.address);
  const auto& address = *exchange.address;
  exchange.endpoint = address.endpoint.get();
  exchange.concurrency = address.concurrency;
  exchange.deadline = parcel.deadline;
  if (address.timeout) exchange.deadline = std::min(parcel.deadline, now + *address.timeout);
  if (exchange.deadline <= now) {
    return spi::SendResult{Kind::timed_out, "its deadline had passed before it was sent"};
  }
  exchange.parcel = std::move(parcel);
  Headers credentials;
  if (options_.credentials) {
    if (auto problem = find_credentials(exchange, credentials)) return problem;
  }
  try {
    exchange.request.prepare({exchange.parcel, address, credentials, options_.clock->wall_now()});
  } catch (const std::exception&) {
    return spi::SendResult{Kind::failed,
                           "the request to " + address.host + " could not be made or signed"};
  }
  return std::nullopt;
}

spi::SendResult HttpTransport::denied(std::string why) {
  return {.kind = Kind::rejected, .error = std::move(why), .code = Code::auth_denied};
}

std::optional<spi::SendResult> HttpTransport::find_credentials(const Exchange& exchange,
                                                               Headers& headers) const {
  const auto& tenant = exchange.parcel.message->tenant();
  const auto& host = exchange.address->host;
  const auto whose = "credentials of tenant " + quoted(tenant) + " for " + host;
  try {
    auto found = options_.credentials(tenant, host);
    if (!found) {
      const auto code = found.error().code;
      if (code == Code::auth_denied) {
        return denied("there are no " + whose);
      }
      return spi::SendResult{Kind::later,
                             std::string(code_name(code)) + ": could not get the " + whose};
    }
    headers = std::move(found).value();
  } catch (...) {
    // The exception's text may contain secrets.
    return spi::SendResult{Kind::later, "could not get the " + whose + ": an exception"};
  }
  for (const auto& [name, value] : headers) {
    if (!is_header_name(name) || belongs_to_protocol(name) || !is_header_value(value)) {
      return denied("the " + whose + " have a header that HTTP does not allow there");
    }
  }
  return std::nullopt;
}

std::vector<std::string> HttpTransport::endpoints_in_use() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, endpoint] : endpoints_) {
    if (!endpoint.expired()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::string>> HttpTransport::findings(BootTime deadline) {
  const auto lost = unreachable(endpoints_in_use(), {.guard = guard_,
                                                     .ca_file = options_.ca_file,
                                                     .resolve = options_.resolve,
                                                     .deadline = deadline,
                                                     .clock = *options_.clock});
  if (!lost.empty()) {
    std::string list;
    for (const auto& one : lost) list += (list.empty() ? "" : "; ") + one;
    return Error{Code::provider_unavailable, "cannot connect to " + list};
  }
  std::vector<std::string> found;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY &&
      files.rlim_cur < options_.connections_max + files_elsewhere) {
    found.push_back("http: connections_max is " + std::to_string(options_.connections_max) +
                    ", but the process may open only " + std::to_string(files.rlim_cur) +
                    " files; raise `ulimit -n` or lower connections_max");
  }
  if (guard_.allows_everything()) {
    found.emplace_back(
        "http: `allow` names the whole internet, so that private networks and cloud metadata can "
        "be reached; name what is needed");
  }
  const auto features = curl_version_info(CURLVERSION_NOW)->features;
  if ((features & CURL_VERSION_ASYNCHDNS) == 0) {
    found.emplace_back(
        "http: this libcurl looks names up while everything waits; use one with a threaded "
        "resolver or c-ares");
  }
  if ((features & CURL_VERSION_HTTP2) == 0) {
    found.emplace_back("http: this libcurl does not speak HTTP/2; HTTP/1.1 is used");
  }
  return found;
}

void HttpTransport::close(BootTime deadline) {
  const std::scoped_lock closing(close_mutex_);
  {
    std::unique_lock lock(mutex_);
    closing_ = true;
    changed_.wait(lock, [&] { return senders_ == 0; });
    changed_.wait_for(lock, deadline - options_.clock->boot_now(), [&] { return in_flight_ == 0; });
  }
  if (courier_) courier_->stop();
}

}  // namespace

Result<std::unique_ptr<spi::Transport>> open(Options options) {
  if (auto status = check(options); !status) return status.error();
  auto guard = AddressGuard::make(options.allow);
  if (!guard) return guard.error();
  if (!curl_ready()) return Error{Code::unknown_internal, "libcurl could not be initialised"};
  auto transport = std::make_unique<HttpTransport>(std::move(options), std::move(guard).value());
  if (auto status = transport->start(); !status) return status.error();
  return std::unique_ptr<spi::Transport>(std::move(transport));
}

}  // namespace sagabox::http
