#include "admin/explain.hpp"

#include "admin/answer.hpp"
#include "admin/thresholds.hpp"
#include "core/error_text.hpp"
#include "core/refused_note.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sagabox::admin {
namespace {

constexpr std::size_t line_bytes_max = 300;
constexpr std::size_t note_bytes_max = 500;
/// A transaction open for longer may be the one that writes the missing message.
constexpr Duration transaction_noticed = std::chrono::seconds(1);

/// Cleans a user's text for one line.
std::string line(std::string_view text) { return clean_error(text, line_bytes_max); }

std::string ago(WallTime then, WallTime now) { return age_text(now - then) + " ago"; }

std::string failure_text(const MessageRecord& record) {
  if (!record.code) return {};
  std::string text(code_name(*record.code));
  if (!record.error.empty()) text += ": " + line(record.error);
  return text;
}

/// Builds the answer for an existing message.
class Answer {
 public:
  explicit Answer(const MessageFacts& facts) : facts_(facts), record_(*facts.record) {}

  Explanation take() && {
    switch (record_.state) {
      case MessageState::done:
        done();
        break;
      case MessageState::dead:
        dead();
        break;
      case MessageState::quarantined:
        quarantined();
        break;
      case MessageState::pending:
        pending();
        break;
    }
    return std::move(answer_);
  }

 private:
  [[nodiscard]] std::string place() const {
    return std::string(state_name(record_.state)) + " in " + facts_.table + " (seq " +
           std::to_string(record_.sequence.value) + ", shard " +
           std::to_string(record_.shard.value) + ")";
  }
  [[nodiscard]] std::string ended(std::string_view how) const {
    if (!record_.ended_at) return place();
    return place() + ", " + std::string(how) + " " + ago(*record_.ended_at, facts_.now);
  }
  [[nodiscard]] std::string attempts() const {
    return record_.attempts == 0 ? "" : ", attempts " + std::to_string(record_.attempts);
  }
  void because(Why why, std::string text) { answer_.reasons.push_back({why, std::move(text)}); }
  [[nodiscard]] bool is_first() const { return answer_.reasons.empty(); }

  void done() {
    answer_.state = ended("delivered");
    because(Why::done, "it was delivered");
    answer_.next = "nothing; a replay would deliver it again";
  }

  void dead() {
    answer_.state = ended("died") + attempts();
    const std::string failure = failure_text(record_);
    because(Why::dead, failure.empty() ? "no error was kept" : failure);
    answer_.next = "replay it: it becomes pending again with a new sequence and attempts 0";
    if (record_.code == Code::tx_unroutable) {
      answer_.next = "add a route for topic " + quoted(record_.topic) + ", then " + answer_.next;
    }
  }

  void quarantined() {
    answer_.state = ended("set aside") + attempts();
    if (tells_of_refused_result(record_.note)) return quarantined_as_refused();
    const std::string failure = failure_text(record_);
    std::string why = record_.note.empty() ? "set aside without a note" : line(record_.note);
    if (!failure.empty()) why += " (last failure: " + failure + ")";
    because(Why::quarantined, std::move(why));
    answer_.next = "release it: it becomes pending again under its own sequence; or replay it";
  }

  void quarantined_as_refused() {
    because(Why::quarantined, clean_error(record_.note, note_bytes_max));
    answer_.next = tells_of_delivery(record_.note)
                       ? "nothing has to be sent; a release or a replay would deliver it again"
                       : "mend what the database refuses, then release or replay it";
  }

  void pending() {
    answer_.state = place() + (record_.replays == 0 ? ", written " : ", replayed ") +
                    ago(record_.written_at, facts_.now) + attempts();
    if (record_.replays > 1) {
      answer_.state += ", replayed " + std::to_string(record_.replays) + " times";
    }
    const auto* const owner = owner_of(facts_.owners, record_.shard);
    answer_.owner = owner_text(owner);
    if (facts_.refused) return refused(*facts_.refused);
    // Nothing that is in the store holds it any more.
    if (facts_.owner_view && facts_.owner_view->in_hand) return in_hand(owner);
    pauses();
    ownership(owner);
    due();
    unrouted();
    held_up();
    earlier();
    passed_over();
    if (!record_.decode_error.empty()) {
      because(Why::undecodable,
              "its owner, who will move it to the dead letters: " + line(record_.decode_error));
    }
    if (is_first() && facts_.oldest_transaction.value_or(Duration{}) > transaction_max) {
      because(Why::open_transaction,
              "the database: a transaction is open for " + age_text(*facts_.oldest_transaction) +
                  " and keeps it from clearing up, so that reading takes longer");
      answer_.next = "sagabox doctor tells which";
    }
    if (is_first()) nothing_known();
  }

  void nothing_known() {
    if (!facts_.owner_view) {
      because(Why::with_owner, "its owner; nothing in the store holds it, its owner may");
      answer_.next =
          "ask the daemon that delivers it (--server): only that one knows what its key or target "
          "waits for, and whether the database refuses its result";
    } else if (!facts_.owner_view->bound.empty()) {
      because(Why::with_owner, "its owner, which has reached its " + facts_.owner_view->bound +
                                   " and takes more when others have ended");
    } else {
      because(Why::with_owner, "its owner; nothing holds it, it should go within the next poll");
    }
  }

  void in_hand(const spi::ShardOwner* owner) {
    using With = OwnerView::With;
    const auto& hand = *facts_.owner_view->in_hand;
    const auto whose = owner == nullptr || owner->owner.empty() ? "its owner" : owner->owner.str();
    const auto since = hand.since ? age_text(*hand.since) : std::string();
    switch (hand.with) {
      case With::handler:
        return because(Why::in_hand, "its handler in " + whose + ", which runs for " + since);
      case With::late_handler:
        answer_.next =
            "see what the handler waits for: it is past its deadline and was told to "
            "stop; until it ends, the message and its key wait";
        return because(Why::in_hand, "its handler in " + whose + ", which runs for " + since +
                                         ", longer than it may");
      case With::target:
        because(Why::in_hand,
                "its targets: " + whose + " has it in hand for " + since + ", without an answer");
        return held_up();
      case With::owner:
        because(Why::in_hand,
                "its turn: " + whose + " has it in hand, queued or with its result to be stored");
        pauses();
        held_up();
        return earlier();
    }
  }

  /// Adds the reasons that only the owner of the message knows.
  void passed_over() {
    if (!facts_.owner_view) return;
    const auto& view = *facts_.owner_view;
    if (view.in_line && facts_.held_up.empty() && !view.no_route_until) {
      because(Why::in_line, "its turn: earlier messages for its target are taken up first");
    }
    for (const auto& what : facts_.key_behind) {
      because(Why::behind_key, "its key may wait behind " + what);
    }
    if (view.key_retrying && facts_.earlier.count == 0) {
      because(Why::behind_key, "its key may wait for the retry of an earlier message");
    }
  }

  void refused(const RefusedResult& refused) {
    because(Why::result_refused,
            std::string("the database, which refuses its result and its quarantine (") +
                std::string(code_name(refused.code)) + ": " + line(refused.error) + "); " +
                (refused.delivered ? "it WAS delivered" : "an attempt failed") +
                ", and this is tried again now and then");
    answer_.next =
        "mend what the database refuses; until then it is not delivered again by this owner, but "
        "by the next one";
  }

  void pauses() {
    const auto paused = [&](const std::string& topic, Why why, const std::string& what) {
      const auto pause = std::find_if(facts_.pauses.begin(), facts_.pauses.end(),
                                      [&](const Pause& p) { return p.topic == topic; });
      if (pause == facts_.pauses.end()) return;
      std::string text = what + " to be resumed, paused " + ago(pause->since, facts_.now);
      if (!pause->actor.empty()) text += " by " + line(pause->actor);
      if (!pause->note.empty()) text += ": " + line(pause->note);
      because(why, std::move(text));
      answer_.next = "resume what is paused";
    };
    paused({}, Why::table_paused, "table " + facts_.table);
    if (!record_.topic.empty()) paused(record_.topic, Why::topic_paused, "topic " + record_.topic);
  }

  void ownership(const spi::ShardOwner* owner) {
    const std::string shard = "shard " + std::to_string(record_.shard.value);
    if (owner == nullptr) {
      because(Why::no_owner, "an owner: nobody owns " + shard);
      if (answer_.next.empty()) answer_.next = "start a relay for table " + facts_.table;
    } else if (owner->lease_left <= Duration::zero()) {
      because(Why::lease_expired, "another owner: the lease of " + owner->owner.str() +
                                      " has run out, whoever asks first takes " + shard);
      if (answer_.next.empty()) {
        answer_.next = "if it stays so, start a relay for table " + facts_.table;
      }
    }
  }

  void due() {
    if (!record_.due || *record_.due <= facts_.now) return;
    const std::string in = "in " + age_text(*record_.due - facts_.now);
    if (!record_.retrying) {
      because(Why::not_due, "its time, due " + in);
      return;
    }
    const std::string failure = failure_text(record_);
    because(Why::retry_due, "its retry, due " + in +
                                (failure.empty() ? std::string() : "; it failed with " + failure));
  }

  [[nodiscard]] std::optional<WallTime> no_route_until() const {
    return facts_.owner_view ? facts_.owner_view->no_route_until : std::nullopt;
  }

  void unrouted() {
    const auto until = no_route_until();
    if (!until) return;
    because(Why::no_route, "an owner that knows topic " + quoted(record_.topic) +
                               ": this one has no listener and no route for it; no attempt is "
                               "spent, and it is dead in " +
                               age_text(*until - facts_.now));
    if (answer_.next.empty()) {
      answer_.next = "add a route for its topic, or start the version that knows it";
    }
  }

  void held_up() {
    using By = HeldUp::By;
    for (const auto by : {By::no_route, By::down, By::limit, By::others}) {
      for (const auto& held : facts_.held_up) {
        if (held.by == by) held_up(held);
      }
    }
  }

  void held_up(const HeldUp& held) {
    const auto in = held.next ? age_text(*held.next) : std::string();
    switch (held.by) {
      case HeldUp::By::no_route:
        if (no_route_until()) return;
        because(Why::no_route,
                "its owner, who will move it to the dead letters: no route takes "
                "topic " +
                    quoted(record_.topic));
        if (answer_.next.empty()) answer_.next = "add a route for its topic";
        return;
      case HeldUp::By::down:
        because(Why::target_down,
                "target " + line(held.target) + ", down for " + age_text(held.since) +
                    (held.what.empty() ? "" : " (" + line(held.what) + ")") + ", next try " +
                    (in.empty() || *held.next <= Duration{} ? "now" : "in " + in) +
                    "; no attempt is spent");
        return;
      case HeldUp::By::limit:
        because(Why::over_limit,
                "its turn at target " + line(held.target) + ": the limit on the " +
                    line(held.what) + " is reached" +
                    (in.empty() ? std::string() : ", the next one may go in " + in));
        return;
      case HeldUp::By::others:
        break;
    }
    because(Why::in_line, "its turn at target " + line(held.target) +
                              ": as many are on their way there as may be");
  }

  void earlier() {
    const EarlierOfKey& earlier = facts_.earlier;
    if (earlier.count == 0) return;
    std::string list;
    for (const auto sequence : earlier.sequences) {
      list += (list.empty() ? "seq " : ", ") + std::to_string(sequence.value);
    }
    if (earlier.more || earlier.sequences.size() < earlier.count) list += " …";
    const bool one = earlier.count == 1 && !earlier.more;
    std::string text = (earlier.more ? "at least " : "") + std::to_string(earlier.count) +
                       (one ? " earlier message" : " earlier messages") + " of key " +
                       quoted(record_.key) + " (" + list + ")";
    if (!is_first()) text += one ? " goes first" : " go first";
    because(Why::behind_key, std::move(text));
  }

  const MessageFacts& facts_;
  const MessageRecord& record_;
  Explanation answer_;
};

}  // namespace

Explanation explain(const MessageFacts& facts) {
  if (facts.record) return Answer(facts).take();
  std::string why =
      "there is no pending, dead or quarantined message of this id; done ones are kept only for "
      "the retention";
  if (facts.oldest_transaction.value_or(Duration{}) > transaction_noticed) {
    why += "; a transaction is open for " + age_text(*facts.oldest_transaction) +
           ", what it has written is there when it commits";
  }
  return {.state = facts.id.str() + " is not in " + facts.table,
          .reasons = {{Why::not_found, std::move(why)}},
          .next = "check the id, the table and the tenant"};
}

}  // namespace sagabox::admin

namespace sagabox {
namespace {

constexpr std::array<std::string_view, why_count> why_names{
    "not_found",    "done",         "dead",           "quarantined",      "in_hand",
    "table_paused", "topic_paused", "no_owner",       "lease_expired",    "retry_due",
    "not_due",      "no_route",     "target_down",    "over_limit",       "in_line",
    "behind_key",   "undecodable",  "result_refused", "open_transaction", "with_owner"};
static_assert(static_cast<std::size_t>(Why::with_owner) + 1 == why_names.size());

}  // namespace

std::string_view why_name(Why why) noexcept { return why_names[static_cast<std::size_t>(why)]; }

std::optional<Why> why_from_name(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(why_names, name);
  if (found == why_names.end()) return std::nullopt;
  return static_cast<Why>(found - why_names.begin());
}

std::string Explanation::text() const {
  return admin::answer_text(*this, Why::quarantined, "then:");
}

}  // namespace sagabox
