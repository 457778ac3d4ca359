#include "admin/checks.hpp"
#include "core/secret_random.hpp"
#include "delivery/secret_box.hpp"
#include "delivery/worker/targets.hpp"

#include <sagabox/hub_admin.hpp>

#include <utility>

namespace sagabox {
namespace {

constexpr std::uint32_t reseal_page = 500;
constexpr std::size_t unreadable_shown_max = 10;

/// The secrets of a page of subscriptions that another key has sealed.
class Resealing {
 public:
  Resealing(const delivery::SecretBox& box, Random& random, ResealReport& report)
      : box_(box), random_(random), report_(report) {}

  Status add(const SubscriptionId& id, const spi::SealedSecret& secret) {
    ++report_.secrets;
    if (box_.is_sealed_by_first(secret.sealed)) {
      ++report_.current;
      return {};
    }
    const auto context = delivery::secret_context(id);
    const auto opened = box_.open(secret.sealed, context);
    if (!opened.ok()) {
      ++report_.unreadable;
      auto& shown = report_.unreadable_first;
      if (shown.size() < unreadable_shown_max) shown.push_back(id);
      return {};
    }
    auto sealed = box_.seal(*opened, context, random_);
    if (!sealed.ok()) return sealed.error();
    page_.push_back({.subscription = id,
                     .number = secret.number,
                     .before = secret.sealed,
                     .after = *std::move(sealed)});
    return {};
  }
  std::vector<spi::SubscriptionStore::ResealedSecret> take() { return std::exchange(page_, {}); }

 private:
  const delivery::SecretBox& box_;
  Random& random_;
  ResealReport& report_;
  std::vector<spi::SubscriptionStore::ResealedSecret> page_;
};

}  // namespace

Result<ResealReport> HubAdmin::reseal(bool dry_run,
                                      const std::function<void(const ResealReport&)>& progress) {
  auto allowed = admin::everybodys(options_.admin, "sealing all secrets by another key");
  if (!allowed.ok()) return allowed.error();
  if (box_ == nullptr) {
    return Error{Code::tx_invalid_state,
                 "there is no key to seal secrets with; " + options_.secret_key_cure};
  }
  ResealReport report;
  auto& random = options_.random != nullptr ? *options_.random : secret_random();
  Resealing resealing(*box_, random, report);
  spi::SubscriptionList request{.rows_max = reseal_page};
  for (bool more = true; more;) {
    const auto rows = hub_.subscriptions.list(request);
    if (!rows.ok()) return rows.error();
    more = rows->size() == reseal_page;
    std::vector<SubscriptionId> ids;
    for (const auto& row : *rows) ids.push_back(row.id);
    if (ids.empty()) break;
    request.after = ids.back();
    const auto found = hub_.subscriptions.secrets(ids);
    if (!found.ok()) return found.error();
    for (const auto& of_one : *found) {
      for (const auto& secret : of_one.secrets) {
        if (auto added = resealing.add(of_one.subscription, secret); !added.ok()) {
          return added.error();
        }
      }
    }
    const auto page = resealing.take();
    if (dry_run) {
      report.resealed += page.size();
    } else {
      const auto written = hub_.subscriptions.reseal(page);
      if (!written.ok()) return written.error();
      report.resealed += *written;
    }
    if (progress) progress(report);
  }
  if (!dry_run) {
    options_.admin.log->log(LogLevel::info, "secrets are sealed by the first key",
                            {{"actor", std::string_view(options_.admin.actor)},
                             {"secrets", report.secrets},
                             {"resealed", report.resealed},
                             {"unreadable", report.unreadable}});
  }
  return report;
}

}  // namespace sagabox
