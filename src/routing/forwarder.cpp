#include "routing/forwarder.hpp"

#include "core/text.hpp"
#include "observe/metric_names.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sagabox::routing {
namespace {

/// The most sends in one round, so that answers do not wait long.
constexpr std::size_t sends_max = 512;
/// Above this number, tenants share limits by their hash.
constexpr std::size_t tenant_valves_max = 100'000;
constexpr int rounds_max = 8;
constexpr std::size_t classes_max = 10'000;
/// The limit for one destination, so that a hanging one does not use all capacity.
constexpr std::uint32_t under_way_max = 1024;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
  return (hash ^ more) * 0x9E3779B97F4A7C15ULL + (hash >> 29U);
}

}  // namespace

Forwarder::Forwarder(const RouterOptions& options, std::unique_ptr<RouteTable> table,
                     std::function<void()> wake)
    : clock_(*options.clock),
      log_(*options.log),
      metrics_(*options.metrics),
      tenant_limits_(options.tenant_limits),
      limits_of_tenant_(options.limits_of_tenant),
      by_tenant_(options.fair_tenants || tenant_limits_.any() || !limits_of_tenant_.empty()),
      pause_max_(options.breaker.pause_max),
      table_(std::move(table)),
      wake_(std::move(wake)),
      traffic_({.breaker = options.breaker, .waiting_max = options.waiting_max}) {
  add_destinations(options);
}

void Forwarder::add_destinations(const RouterOptions& options) {
  const auto now = clock_.boot_now();
  std::map<std::string, flow::DestinationId> known;
  for (auto& route : table_->routes()) {
    if (route.limits.any()) {
      route_valves_.emplace(route.number, traffic_.add_valve(route.limits, now));
    }
    for (auto& target : route.targets) {
      const auto traits = target.transport->traits();
      if (!transport_valves_.contains(target.transport_name)) {
        const auto found = options.transport_limits.find(target.transport_name);
        auto limits = found == options.transport_limits.end() ? Limits{} : found->second;
        limits.concurrency =
            std::min(limits.concurrency.value_or(traits.in_flight_max), traits.in_flight_max);
        transport_valves_.emplace(target.transport_name, traffic_.add_valve(limits, now));
      }
      const auto [at, fresh] = known.try_emplace(target.text);
      if (fresh) {
        at->second = traffic_.add_destination(
            std::min({target.address->at_once().value_or(traits.in_flight_max),
                      traits.in_flight_max, under_way_max}));
        auto& down = metrics_.gauge(metric::transport_destination_down,
                                    {{"target", std::string_view(target.shown)}});
        down.set(0);
        destinations_.push_back(
            {.target = &target, .figures = figures_of(target.transport_name), .down = &down});
      }
      target.destination = at->second;
    }
  }
}

spi::ClassId Forwarder::line_of(const Route& route, const Target& target,
                                const std::string& tenant) const {
  auto hash = mixed(stable_hash("destination"), target.destination.value);
  if (route.limits.any()) hash = mixed(hash, route.number + 1);
  if (by_tenant_) hash = mixed(hash, stable_hash(tenant));
  return spi::ClassId{hash};
}

std::optional<spi::ClassId> Forwarder::class_of(const Message& message) const {
  const auto* const route = table_->find(message.topic());
  if (route == nullptr) return std::nullopt;
  return class_of(*route, message.tenant());
}

spi::ClassId Forwarder::class_of(const Route& route, const std::string& tenant) const {
  if (route.targets.size() == 1) return line_of(route, route.targets.front(), tenant);
  auto hash = stable_hash("several");
  for (const auto& target : route.targets) {
    hash = mixed(hash, line_of(route, target, tenant).value);
  }
  return spi::ClassId{hash};
}

bool Forwarder::closed(spi::ClassId id) const {
  if (shut_.load(std::memory_order_acquire) == 0) return false;
  const std::scoped_lock lock(mutex_);
  const auto several = lines_of_class_.find(id.value);
  if (several == lines_of_class_.end()) return traffic_.shut(id);
  // A target that is down does not block messages for the other targets; a full one does.
  return std::any_of(several->second.begin(), several->second.end(),
                     [&](spi::ClassId line) { return traffic_.full(line); });
}

bool Forwarder::samples(spi::ClassId id) const {
  const std::scoped_lock lock(mutex_);
  return traffic_.samples(id, clock_.boot_now());
}

std::string Forwarder::valve_name(const std::string& tenant) const {
  if (tenant_valves_.size() < tenant_valves_max || tenant_valves_.contains(tenant)) return tenant;
  return "#" + std::to_string(stable_hash(tenant) % 1024);
}

std::optional<flow::ValveId> Forwarder::tenant_valve(const std::string& tenant, BootTime now) {
  const auto own = limits_of_tenant_.find(tenant);
  const auto& limits = own == limits_of_tenant_.end() ? tenant_limits_ : own->second;
  if (!limits.any()) return std::nullopt;
  const auto [at, fresh] = tenant_valves_.try_emplace(valve_name(tenant));
  if (fresh) at->second = traffic_.add_valve(limits, now);
  return at->second;
}

flow::Traffic::Way Forwarder::way(const Route& route, const Target& target,
                                  const std::string& tenant, BootTime now) {
  auto way = known_way(route, target, tenant);
  way.valves[valve_of_tenant] = tenant_valve(tenant, now);
  return way;
}

flow::Traffic::Way Forwarder::known_way(const Route& route, const Target& target,
                                        const std::string& tenant) const {
  auto way = flow::Traffic::Way{.line = line_of(route, target, tenant),
                                .destination = target.destination,
                                .valves = {transport_valves_.at(target.transport_name)}};
  if (const auto found = route_valves_.find(route.number); found != route_valves_.end()) {
    way.valves[valve_of_route] = found->second;
  }
  const auto known = tenant_valves_.find(valve_name(tenant));
  if (known != tenant_valves_.end()) way.valves[valve_of_tenant] = known->second;
  return way;
}

Forwarder::Client* Forwarder::client_of(const spi::DispatchResults& results) const {
  const auto found = std::find_if(clients_.begin(), clients_.end(),
                                  [&](const auto& one) { return one->results == &results; });
  return found == clients_.end() ? nullptr : found->get();
}

void Forwarder::join(spi::DispatchResults& results) {
  const std::scoped_lock lock(mutex_);
  clients_.push_back(std::make_unique<Client>(Client{.results = &results}));
}

void Forwarder::deliver(std::span<spi::Dispatch> dispatches, spi::DispatchResults& results) {
  std::vector<const Route*> routes;
  std::vector<std::optional<Error>> objections;
  for (const auto& dispatch : dispatches) {
    const auto& message = *dispatch.message;
    routes.push_back(table_->find(message.topic()));
    objections.push_back(
        routes.back() == nullptr
            ? Error{Code::tx_unroutable,
                    "no route for topic \"" + message.topic() + "\"; add one, then replay"}
            : routes.back()->objection(message));
  }
  std::vector<Answer> answers;
  {
    const std::scoped_lock lock(mutex_);
    auto* const client = client_of(results);
    const auto now = clock_.boot_now();
    for (std::size_t at = 0; at < dispatches.size(); ++at) {
      ++client->open;
      if (const auto& objection = objections[at]) {
        auto outcome = reject(objection->message);
        outcome.code = objection->code;
        answers.push_back({client, dispatches[at].ticket, {.outcome = std::move(outcome)}});
      } else {
        set_out(dispatches[at], *routes[at], *client, now, answers);
      }
    }
    publish();
  }
  tell(answers);
  pump();
}

void Forwarder::set_out(spi::Dispatch& dispatch, const Route& route, Client& client, BootTime now,
                        std::vector<Answer>& answers) {
  const auto ticket = dispatch.ticket;
  const auto message = dispatch.message;
  const auto waiting = flow::Traffic::Waiting{.bytes = message->bytes(),
                                              .retry = dispatch.again,
                                              .sample = dispatch.sample,
                                              .deadline = dispatch.deadline};
  const auto number = journeys_.add({Journey(std::move(dispatch), route), &client});
  auto& journey = journeys_.find(number)->journey;
  std::vector<spi::ClassId> lines;
  for (std::size_t at = 0; at < route.targets.size(); ++at) {
    const auto& target = route.targets[at];
    const auto there = way(route, target, message->tenant(), now);
    lines.push_back(there.line);
    if (journey.has_answered(at)) continue;
    const auto part = parts_.add({.journey = number, .target = at, .going = {.line = there.line}});
    auto offered = waiting;
    offered.part = flow::PartId{part};
    if (traffic_.offer(there, offered, now)) {
      ++journey.open;
      continue;
    }
    not_now(journey, there.line, target, now);
    parts_.remove(part);
  }
  if (lines.size() > 1) {
    if (lines_of_class_.size() >= classes_max) lines_of_class_.clear();
    lines_of_class_.try_emplace(class_of(route, message->tenant()).value, std::move(lines));
  }
  if (journey.open > 0) return;
  answers.push_back({&client, ticket, journey.result()});
  journeys_.remove(number);
}

void Forwarder::pump() {
  std::unique_lock lock(mutex_);
  again_ = true;
  if (pumping_) return;
  pumping_ = true;
  // Limit the rounds, because the calling thread has other work.
  for (int rounds = 0; again_ && rounds < rounds_max; ++rounds) {
    again_ = false;
    auto due = round(clock_.boot_now());
    again_ = due.more;
    lock.unlock();
    for (auto& [transport, parcels] : due.parcels) transport->send(parcels, *this);
    tell(due.answers);
    if (due.opened) tell_opened();
    lock.lock();
  }
  pumping_ = false;
  const bool more = again_;
  lock.unlock();
  if (more) wake_();
}

Forwarder::Round Forwarder::round(BootTime now) {
  Round due;
  traffic_.tick(now);
  for (const auto part : traffic_.give_up(now)) {
    auto& found = *parts_.find(part.value);
    auto& journey = journeys_.find(found.journey)->journey;
    not_now(journey, found.going.line, journey.route->targets[found.target], now);
    close_part(part.value, due.answers);
  }
  std::size_t sends = 0;
  while (sends < sends_max) {
    const auto going = traffic_.next(now);
    if (!going) break;
    ++sends;
    auto& part = *parts_.find(going->part.value);
    const auto& target = journeys_.find(part.journey)->journey.route->targets[part.target];
    part.going = *going;
    part.probe = going->sample || traffic_.down(going->line, target.destination) != nullptr;
    due.parcels[target.transport].push_back(parcel(going->part.value, part, now));
  }
  due.more = sends == sends_max;
  due.opened = traffic_.take_opened();
  publish();
  return due;
}

spi::Parcel Forwarder::parcel(std::uint64_t number, Part& part, BootTime now) {
  part.sent = now;
  part.under_way = true;
  const auto& journey = journeys_.find(part.journey)->journey;
  const auto& dispatch = journey.dispatch;
  return {.ticket = spi::Ticket{number},
          .message = dispatch.message,
          .address = journey.route->targets[part.target].address,
          .table = dispatch.table,
          .sequence = dispatch.sequence,
          .shard = dispatch.shard,
          .epoch = dispatch.epoch,
          .attempt = dispatch.attempt,
          .deadline = now + journey.route->timeout};
}

void Forwarder::sent(spi::Ticket ticket, spi::SendResult result) noexcept {
  std::vector<Answer> answers;
  bool due = false;
  {
    const std::scoped_lock lock(mutex_);
    auto* const part = parts_.find(ticket.value);
    // A second result for a parcel is an error of the transport; only the first one counts.
    if (part == nullptr || !part->under_way) return;
    const auto now = clock_.boot_now();
    auto& journey = journeys_.find(part->journey)->journey;
    const auto& target = journey.route->targets[part->target];
    const auto judged = blame(*journey.dispatch.message, *part, target, result, now);
    using Fault = flow::Traffic::Fault;
    traffic_.ended(part->going, result, part->sent, now,
                   judged.blamed ? Fault::message : Fault::destination);
    watch(target.destination, result, part->sent, now);
    judge(journey, *part, target, std::move(result), judged, now);
    close_part(ticket.value, answers);
    publish();
    due = traffic_.waiting() > 0 || traffic_.shut_lines() > 0 || traffic_.opened();
  }
  tell(answers);
  if (due) wake_();
}

Forwarder::Instruments Forwarder::figures_of(const std::string& transport) const {
  constexpr std::array<std::string_view, Instruments::results> names = {
      "delivered", "rejected", "failed", "unreachable", "timed_out", "busy", "later"};
  Instruments figures;
  for (std::size_t kind = 0; kind < names.size(); ++kind) {
    figures.sends.at(kind) =
        &metrics_.counter(metric::transport_sends_total,
                          {{"transport", std::string_view(transport)}, {"result", names.at(kind)}});
  }
  figures.seconds = &metrics_.histogram(metric::transport_send_seconds,
                                        {{"transport", std::string_view(transport)}});
  return figures;
}

void Forwarder::watch(flow::DestinationId id, const spi::SendResult& result, BootTime sent,
                      BootTime now) {
  auto& destination = destinations_[id.value];
  destination.figures.sends.at(static_cast<std::size_t>(result.kind))->increment();
  destination.figures.seconds->observe(std::chrono::duration<double>(now - sent).count());
  if (result.kind != spi::SendResult::Kind::delivered) destination.last_error = result.error;
  const bool down = traffic_.breaker(id).open();
  if (down == std::exchange(destination.known_down, down)) return;
  const auto target = destination.target->shown;
  destination.down->set(down ? 1 : 0);
  if (down) {
    log_.log(LogLevel::warning, "destination is down; its messages wait, no attempt is spent",
             {{"target", std::string_view(target)}, {"error", std::string_view(result.error)}});
  } else {
    const auto lasted = age_text(now - traffic_.breaker(id).down_since());
    log_.log(LogLevel::info, "destination is back",
             {{"target", std::string_view(target)}, {"after", std::string_view(lasted)}});
  }
}

void Forwarder::close_part(std::uint64_t number, std::vector<Answer>& answers) {
  const auto at = parts_.find(number)->journey;
  parts_.remove(number);
  auto& travelling = *journeys_.find(at);
  if (--travelling.journey.open > 0) return;
  answers.push_back(
      {travelling.client, travelling.journey.dispatch.ticket, travelling.journey.result()});
  journeys_.remove(at);
}

void Forwarder::tell(std::vector<Answer>& answers) noexcept {
  if (answers.empty()) return;
  for (auto& answer : answers) {
    answer.client->results->dispatched(answer.ticket, std::move(answer.result));
  }
  const std::scoped_lock lock(mutex_);
  for (const auto& answer : answers) --answer.client->open;
  answered_.notify_all();
}

void Forwarder::tell_opened() noexcept {
  const std::scoped_lock telling(telling_opened_);
  std::vector<spi::DispatchResults*> all;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& client : clients_) all.push_back(client->results);
  }
  for (auto* results : all) results->opened();
}

void Forwarder::recall(spi::DispatchResults& results, std::optional<Shard> shard) {
  std::vector<Answer> answers;
  {
    const std::scoped_lock lock(mutex_);
    const auto* const client = client_of(results);
    std::vector<std::uint64_t> waiting;
    parts_.for_each([&](std::uint64_t number, const Part& part) {
      const auto& travelling = *journeys_.find(part.journey);
      const bool meant = !shard || travelling.journey.dispatch.shard == *shard;
      if (!part.under_way && travelling.client == client && meant) waiting.push_back(number);
    });
    for (const auto number : waiting) {
      const auto& part = *parts_.find(number);
      (void)traffic_.cancel(part.going.line, flow::PartId{number});
      journeys_.find(part.journey)->journey.no_room();
      close_part(number, answers);
    }
  }
  tell(answers);
}

void Forwarder::leave(spi::DispatchResults& results) {
  recall(results, std::nullopt);
  {
    std::unique_lock lock(mutex_);
    const auto* const client = client_of(results);
    if (client == nullptr) return;
    answered_.wait(lock, [&] { return client->open == 0; });
  }
  const std::scoped_lock lock(telling_opened_, mutex_);
  std::erase_if(clients_, [&](const auto& one) { return one->results == &results; });
}

BootTime Forwarder::wake_at() const {
  const std::scoped_lock lock(mutex_);
  return traffic_.wake_at(clock_.boot_now());
}

}  // namespace sagabox::routing
