#include "delivery/worker/worker.hpp"

#include "delivery/hub_log.hpp"
#include "delivery/worker/webhook.hpp"
#include "observe/hub_metric_names.hpp"
#include "observe/trace_parent.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

namespace sagabox::delivery {
namespace {

/// 0 for an event that is gone.
std::size_t leased_payload_bytes(const spi::LeasedJob& job) {
  return job.event.message ? job.event.message->payload().size() : 0;
}

}  // namespace

/// What outlives the worker while requests are under way: their results come to it.
struct Worker::Inbox final : spi::SendResults {
  struct UnderWay {
    Held held;
    BootTime sent{};
  };
  struct Arrived {
    Held held;
    spi::SendResult result{};
    Duration took{};
  };

  Inbox(const Clock& clock_of, std::function<void()> wake_of)
      : clock(clock_of), wake(std::move(wake_of)) {}

  void sent(spi::Ticket ticket, spi::SendResult result) noexcept override {
    std::shared_ptr<Inbox> last;
    {
      const std::scoped_lock lock(mutex);
      auto found = under_way.extract(ticket.value);
      if (!found) return;
      if (under_way.empty()) last = std::move(self);
      if (!alive) return;
      auto& [held, since] = found.mapped();
      arrived.push_back({std::move(held), std::move(result), clock.boot_now() - since});
      if (arrived.size() > 1) return;  // whoever takes the first takes this one, too
      ++waking;
    }
    wake();
    const std::scoped_lock lock(mutex);
    --waking;
    woken.notify_all();
  }

  /// Returns its ticket.
  spi::Ticket add(Held held, BootTime now, const std::shared_ptr<Inbox>& me) {
    const std::scoped_lock lock(mutex);
    self = me;
    under_way.emplace(++last_ticket, UnderWay{std::move(held), now});
    return spi::Ticket{last_ticket};
  }

  std::vector<Arrived> take() {
    const std::scoped_lock lock(mutex);
    return std::exchange(arrived, {});
  }

  bool has_arrived() {
    const std::scoped_lock lock(mutex);
    return !arrived.empty();
  }

  void close() {
    std::unique_lock lock(mutex);
    alive = false;
    woken.wait(lock, [this] { return waking == 0; });
  }

  const Clock& clock;
  const std::function<void()> wake;
  std::mutex mutex;  // of all below
  std::condition_variable woken;
  std::unordered_map<std::uint64_t, UnderWay> under_way;
  std::vector<Arrived> arrived;
  std::uint64_t last_ticket = 0;
  std::uint32_t waking = 0;
  bool alive = true;
  std::shared_ptr<Inbox> self;  ///< while anything is under way
};

Worker::Worker(JobWorkerParts parts, JobWorkerOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      errors_(parts_.metrics),
      completed_total_(
          parts_.metrics.counter(metric::hub_attempts_total, {{"result", "completed"}})),
      failed_total_(parts_.metrics.counter(metric::hub_attempts_total, {{"result", "failed"}})),
      completed_seconds_(
          parts_.metrics.histogram(metric::hub_attempt_seconds, {{"result", "completed"}})),
      failed_seconds_(
          parts_.metrics.histogram(metric::hub_attempt_seconds, {{"result", "failed"}})),
      spans_(parts_.tracing, parts_.clock),
      targets_(parts_.transports, parts_.box),
      schedule_(options_.poll_interval),
      inbox_(std::make_shared<Inbox>(parts_.clock, parts_.wake)) {}

Worker::~Worker() { inbox_->close(); }

bool Worker::step() {
  const auto now = parts_.clock.boot_now();
  take_arrived();
  if (now < retry_.at()) return false;
  if (send_leased(now)) return true;
  lease_next_ = !lease_next_;
  if (lease_next_) return lease_more(now) || write_results(now);
  return write_results(now) || lease_more(now);
}

BootTime Worker::next(BootTime now) const {
  if (!leased_.empty() || !results_.empty() || inbox_->has_arrived()) {
    return std::max(now, retry_.at());
  }
  if (room() == 0) return BootTime::max();
  return std::max(schedule_.next(now, [] { return false; }), retry_.at());
}

bool Worker::idle() const { return in_hand_.load() == 0; }

JobWorkerSnapshot Worker::snapshot() const {
  return {.in_hand = in_hand_.load(),
          .bytes = in_hand_bytes_.load(),
          .completed = completed_.load(),
          .failed = failed_.load(),
          .lost = lost_.load()};
}

std::uint32_t Worker::room() const {
  const auto in_hand = in_hand_.load();
  if (stopped_.load() || in_hand >= options_.in_hand_max || !parts_.may_lease()) return 0;
  if (in_hand_bytes_.load() >= options_.in_hand_bytes_max) return 0;
  return std::min(options_.in_hand_max - in_hand, options_.lease_rows_max);
}

void Worker::failed(std::string_view what, const Error& error, BootTime now) {
  errors_.count(error.code);
  retry_.failed(now);
  parts_.log.log(LogLevel::warning, "a call of the hub's worker failed, will be made again",
                 {{"call", what},
                  {"code", code_name(error.code)},
                  {"error", std::string_view(error.message)}});
}

// Leasing.

Worker::Lease Worker::new_lease(BootTime now) const {
  const auto ceiling = options_.request_timeout_max;
  Lease lease{.token = parts_.ids.next<LeaseToken>(), .longest = ceiling};
  if (options_.lease > Duration{}) {
    lease.until = now + options_.lease;
  } else {
    lease.longest = std::min(ceiling, book_.longest_timeout());
    lease.until = now + lease.longest + options_.lease_spare;
  }
  return lease;
}

bool Worker::lease_more(BootTime now) {
  const auto rows_max = room();
  if (rows_max == 0 || !schedule_.due(now, [] { return false; })) return false;
  // How long a lease has to be.
  if (reread_at_ == BootTime{}) {
    if (auto read = read_subscriptions(now); !read.ok()) {
      failed("subscriptions", read.error(), now);
      return true;
    }
    now = parts_.clock.boot_now();
  }
  schedule_.begin();
  const auto lease = new_lease(now);
  const auto bytes_max = options_.in_hand_bytes_max - in_hand_bytes_.load();
  auto jobs = parts_.jobs.lease(options_.name, lease.token, lease.until - now, rows_max, bytes_max);
  if (!jobs.ok()) {
    // What was leased all the same comes back through the cleaner.
    schedule_.failed(now);
    failed("lease", jobs.error(), now);
    return true;
  }
  retry_.succeeded();
  schedule_.succeeded();
  std::size_t bytes = 0;
  for (const auto& job : *jobs) bytes += leased_payload_bytes(job);
  in_hand_bytes_ += bytes;
  // What did not fit is there still.
  const bool filled = bytes > bytes_max / 2 || bytes_max < options_.in_hand_bytes_max / 2;
  const bool more = jobs->size() >= rows_max || (!jobs->empty() && filled);
  schedule_.end(now, more);
  in_hand_ += static_cast<std::uint32_t>(jobs->size());
  for (auto& job : *jobs) leased_.push_back({.leased = std::move(job), .lease = lease});
  return true;
}

// Sending.

bool Worker::send_leased(BootTime now) {
  if (leased_.empty()) return false;
  // Whoever is subscribed now counts, with what signs now.
  if (auto read = read_subscriptions(now); !read.ok()) {
    failed("subscriptions", read.error(), now);
    return true;
  }
  const auto secrets = read_secrets();
  if (!secrets.ok()) {
    failed("secrets", secrets.error(), now);
    return true;
  }
  retry_.succeeded();
  // Those calls may have taken long.
  const auto sends = parts_.clock.boot_now();
  std::vector<Prepared> prepared;
  for (auto& held : std::exchange(leased_, {})) {
    prepared.push_back(prepare(std::move(held), *secrets, sends));
  }
  hand_over(std::move(prepared), sends);
  return true;
}

Status Worker::read_subscriptions(BootTime now) {
  const bool all = rereads_.exchange(false) || now >= reread_at_;
  const auto changed = parts_.subscriptions(all ? 0 : book_.change());
  if (!changed.ok()) {
    if (all) rereads_.store(true);
    return changed.error();
  }
  if (!all) {
    book_.apply(*changed);
    return {};
  }
  book_.replace(*changed);
  targets_.forget();
  reread_at_ = now + options_.reread_interval;
  return {};
}

Result<Worker::Secrets> Worker::read_secrets() const {
  std::set<SubscriptionId> asked;
  for (const auto& held : leased_) {
    const auto subscription = book_.find(held.leased.delivery.subscription);
    if (subscription && is_webhook(subscription->record.target)) {
      asked.insert(subscription->record.id);
    }
  }
  Secrets secrets;
  if (asked.empty()) return secrets;
  auto read = parts_.secrets.secrets(std::vector(asked.begin(), asked.end()));
  if (!read.ok()) return read.error();
  for (auto& one : *read) secrets.emplace(one.subscription, std::move(one.secrets));
  return secrets;
}

/// One that has become longer since the lease was made has what the lease leaves.
Duration Worker::timeout_of(const Held& held, const Subscription& subscription,
                            BootTime now) const {
  const auto wanted = std::min(subscription.settings.timeout, options_.request_timeout_max);
  const auto left = held.lease.until - now - options_.lease_margin;
  return std::min(wanted, std::max<Duration>(held.lease.longest, left));
}

std::optional<JobResult> Worker::refusal_of(const Held& held, const Subscription* subscription,
                                            BootTime now) const {
  if (!held.leased.event.message) {
    return not_sent(Code::request_not_found,
                    "its event is not stored any more, or cannot be read; publish it again");
  }
  // Deliveries are made of subscriptions that are there: what this process knows is behind.
  if (subscription == nullptr) {
    return not_sent(Code::provider_unavailable, "its subscription is not known here yet");
  }
  const auto& record = subscription->record;
  const auto& tenant = held.leased.event.message->tenant();
  if (tenant != record.tenant || tenant != held.leased.delivery.tenant) {
    return not_sent(Code::auth_denied, "event and subscription are of different tenants");
  }
  if (record.state == SubscriptionState::disabled) {
    return not_sent(Code::tx_deadletter, "the subscription was disabled before it was sent");
  }
  // These may end, and spend none of the retries.
  if (record.state == SubscriptionState::unverified) {
    return not_sent(Code::provider_unavailable, "the endpoint has not proved itself yet");
  }
  if (!subscription->problem.empty()) {
    return not_sent(Code::provider_unavailable,
                    "the subscription cannot be read here: " + subscription->problem);
  }
  if (!outlives(held, now + timeout_of(held, *subscription, now))) {
    return not_sent(Code::provider_unavailable,
                    "the worker was held up, and its lease is too short for an attempt");
  }
  return std::nullopt;
}

Worker::Prepared Worker::prepare(Held held, const Secrets& secrets, BootTime now) {
  const auto subscription = book_.find(held.leased.delivery.subscription);
  if (auto refusal = refusal_of(held, subscription.get(), now)) {
    return {.held = std::move(held), .refusal = *std::move(refusal)};
  }
  const auto own = secrets.find(subscription->record.id);
  const auto keys = own == secrets.end() ? std::span<const spi::SealedSecret>() : own->second;
  auto target = targets_.find(*subscription, keys);
  if (!target.ok()) {
    // A process with another configuration may take it.
    return {.held = std::move(held),
            .refusal = not_sent(Code::provider_unavailable, target.error().message)};
  }
  held.span = spans_.begin(held.leased);
  auto parcel =
      parcel_of(held.leased, *subscription, held.span ? traceparent_of(*held.span) : std::string());
  parcel.address = target->address;
  parcel.deadline = now + timeout_of(held, *subscription, now);
  return {.held = std::move(held), .transport = target->transport, .parcel = std::move(parcel)};
}

void Worker::hand_over(std::vector<Prepared> prepared, BootTime now) {
  std::map<std::shared_ptr<spi::Transport>, std::vector<spi::Parcel>> parcels;
  for (auto& one : prepared) {
    if (!one.transport) {
      ended(one.held, std::move(one.refusal));
      continue;
    }
    one.parcel.ticket = inbox_->add(std::move(one.held), now, inbox_);
    parcels[one.transport].push_back(std::move(one.parcel));
  }
  for (auto& [transport, some] : parcels) transport->send(some, *inbox_);
}

// Results.

void Worker::take_arrived() {
  for (auto& [held, result, took] : inbox_->take()) {
    const auto payload = held.leased.event.message->payload().view();
    auto ends = result_of(result, took, payload);
    if (held.span) spans_.end(std::move(*held.span), ends);
    ended(held, std::move(ends));
  }
}

void Worker::ended(const Held& held, JobResult result) {
  (result.completed ? completed_ : failed_).fetch_add(1);
  (result.completed ? completed_total_ : failed_total_).increment();
  (result.completed ? completed_seconds_ : failed_seconds_)
      .observe(std::chrono::duration<double>(result.took).count());
  if (result.code) errors_.count(*result.code);
  log_attempt(held, result);
  in_hand_bytes_ -= leased_payload_bytes(held.leased);
  const auto& job = held.leased.job;
  auto& waiting = results_[held.lease.token];
  waiting.until = held.lease.until;
  waiting.jobs.push_back({{job.delivery, job.attempt}, std::move(result)});
}

void Worker::log_attempt(const Held& held, const JobResult& result) const {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(result.took).count();
  auto delivery = held.leased.delivery;
  delivery.attempt = held.leased.job.attempt;
  log_delivery(parts_.log, result.completed ? LogLevel::debug : LogLevel::warning,
               result.completed ? "an attempt succeeded" : "an attempt failed", delivery,
               {{"status", static_cast<std::int64_t>(result.status)},
                {"code", result.code ? code_name(*result.code) : std::string_view()},
                {"error", std::string_view(result.error)},
                {"ms", static_cast<std::int64_t>(ms)}});
}

bool Worker::write_results(BootTime now) {
  if (results_.empty()) return false;
  auto& [token, waiting] = *results_.begin();
  auto& all = waiting.jobs;
  const auto count =
      std::min<std::size_t>(all.size(), waiting.singly ? 1 : options_.finish_rows_max);
  const auto rest = all.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<spi::FinishedJob> jobs(std::make_move_iterator(all.begin()),
                                     std::make_move_iterator(rest));
  all.erase(all.begin(), rest);
  const auto of = token;
  const auto until = waiting.until;
  if (all.empty()) results_.erase(results_.begin());
  const auto reply = parts_.jobs.finish(of, jobs);
  if (reply.ok() && std::ranges::find(*reply, false) == reply->end()) parts_.finished(jobs);
  apply_finish(of, until, std::move(jobs), reply, now);
  return true;
}

void Worker::apply_finish(const LeaseToken& token, BootTime until,
                          std::vector<spi::FinishedJob> jobs,
                          const Result<std::vector<bool>>& reply, BootTime now) {
  if (!reply.ok()) {
    failed("finish", reply.error(), now);
    const bool repeatable = may_be_repeated(reply.error().code);
    // What the store refuses may be one of them, or pass: they count until their lease runs out.
    if (repeatable || now < until) {
      auto& waiting = results_[token];
      waiting.until = until;
      waiting.singly = waiting.singly || !repeatable;
      waiting.jobs.insert(waiting.jobs.end(), std::make_move_iterator(jobs.begin()),
                          std::make_move_iterator(jobs.end()));
      return;
    }
    lost_ += jobs.size();
  } else {
    retry_.succeeded();
    lost_ += static_cast<std::uint64_t>(std::ranges::count(*reply, false));
  }
  in_hand_ -= static_cast<std::uint32_t>(jobs.size());
}

}  // namespace sagabox::delivery
