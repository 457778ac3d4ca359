#include "core/text.hpp"

#include <sagabox/audit.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace sagabox {
namespace {

/// Any bytes, malformed UTF-8, quotes and NUL included; often short, so that fields collide.
rc::Gen<std::string> any_text() {
  return rc::gen::oneOf(
      rc::gen::container<std::string>(rc::gen::arbitrary<char>()),
      rc::gen::element<std::string>("", "a", "orders", "\"\\/", "zwölf \xf0\x9f\x93\xa6",
                                    std::string("\0x", 2), "\xff\xfe", "\xed\xa0\x80", "\xc3",
                                    "\xef\xbf\xbd", "\x7f\xc2\x80", "{\"hex\":\"00\"}"));
}

rc::Gen<Digest> any_digest() {
  return rc::gen::map(
      rc::gen::container<std::vector<std::uint8_t>>(32, rc::gen::arbitrary<std::uint8_t>()),
      [](const std::vector<std::uint8_t>& bytes) {
        Digest digest{};
        std::copy(bytes.begin(), bytes.end(), digest.begin());
        return digest;
      });
}

WallTime any_time() {
  const auto micros = *rc::gen::oneOf(
      rc::gen::arbitrary<std::int64_t>(),
      rc::gen::inRange<std::int64_t>(-62'167'219'200'000'001, 253'402'300'800'000'001),
      rc::gen::element<std::int64_t>(0, -1, -62'167'219'200'000'000, -62'167'219'200'000'001,
                                     253'402'300'799'999'999, 253'402'300'800'000'000,
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min()));
  return WallTime{std::chrono::microseconds{micros}};
}

AuditEvent any_event() {
  AuditEvent event;
  event.kind = static_cast<AuditKind>(*rc::gen::inRange<std::size_t>(0, audit_kind_count));
  event.at = any_time();
  event.table = *any_text();
  event.tenant = *any_text();
  event.topic = *any_text();
  event.message_id = *any_text();
  event.attempt = *rc::gen::arbitrary<std::uint32_t>();
  event.digest = *any_digest();
  event.traceparent = *any_text();
  event.code = *any_text();
  event.detail = *any_text();
  event.actor = *any_text();
  return event;
}

using Log = std::vector<AuditEntry>;

AuditHead head_of(const AuditEntry& entry) { return {entry.number, entry.hash}; }
AuditHead head_of(const Log& log) { return log.empty() ? AuditHead{} : head_of(log.back()); }

Log any_log(std::size_t entries_min) {
  Log log;
  const auto entries = *rc::gen::inRange<std::size_t>(entries_min, entries_min + 6);
  while (log.size() < entries) log.push_back(chain(head_of(log), any_event()));
  return log;
}

std::vector<std::string> problems(const Log& log, const AuditHead& head, AuditHead anchor = {}) {
  AuditVerifier verifier(anchor);
  std::vector<std::string> found;
  const auto keep = [&](std::string problem) {
    if (!problem.empty()) found.push_back(std::move(problem));
  };
  for (const auto& entry : log) keep(verifier.next(entry));
  keep(verifier.end(head));
  return found;
}

std::size_t any_place(const Log& log) { return *rc::gen::inRange<std::size_t>(0, log.size()); }

constexpr std::size_t entry_fields = 15;

/// Changes one field of an entry to something else.
void edit(AuditEntry& entry, std::size_t field) {
  const auto text = [](std::string& was) {
    was = *rc::gen::suchThat(any_text(), [&](const std::string& now) { return now != was; });
  };
  const auto digest = [](Digest& was) {
    was[*rc::gen::inRange<std::size_t>(0, was.size())] ^=
        static_cast<std::uint8_t>(1U << *rc::gen::inRange(0, 8));
  };
  AuditEvent& event = entry.event;
  const std::array<std::string*, 8> texts{&event.table,      &event.tenant,      &event.topic,
                                          &event.message_id, &event.traceparent, &event.code,
                                          &event.detail,     &event.actor};
  if (field < texts.size()) return text(*texts[field]);
  switch (field - texts.size()) {
    case 0:
      event.kind = static_cast<AuditKind>(
          (static_cast<std::size_t>(event.kind) + *rc::gen::inRange<std::size_t>(1, 16)) %
          audit_kind_count);
      return;
    case 1: {
      const auto was = event.at;
      while (event.at == was) event.at = any_time();
      return;
    }
    case 2:
      event.attempt ^= 1U << *rc::gen::inRange(0, 32);
      return;
    case 3:
      return digest(event.digest);
    case 4:
      return digest(entry.previous);
    case 5:
      return digest(entry.hash);
    default:
      entry.number ^= std::uint64_t{1} << *rc::gen::inRange(0, 64);
  }
}

TEST(AuditChain, StartsFromNothing) {
  const AuditEntry first = chain({}, {.kind = AuditKind::paused, .table = "orders"});
  EXPECT_EQ(first.number, 1U);
  EXPECT_EQ(first.previous, Digest{});
  EXPECT_NE(first.hash, Digest{});
  EXPECT_EQ(AuditVerifier().next(first), "");
  EXPECT_EQ(AuditVerifier().end({}), "");
}

/// Stored logs must verify in later versions: this hash never changes.
TEST(AuditChain, HasTheHashItAlwaysHad) {
  const AuditEvent event{.kind = AuditKind::quarantined,
                         .at = WallTime{std::chrono::seconds(1'767'225'600)},
                         .table = "orders",
                         .tenant = "default",
                         .topic = "orders.order.placed.v1",
                         .message_id = "01JC9Y3B6W8QK3T5V0ZC2N7A4F",
                         .attempt = 3,
                         .digest = sha256("payload"),
                         .traceparent = "",
                         .code = "PROVIDER.REJECTED",
                         .detail = "looks wrong",
                         .actor = "ann"};
  EXPECT_EQ(hex(chain({6, sha256("before")}, event).hash),
            "61eae9ed23ddd7641868d609407132bb2baa5b0dbd0602fccf9a7056a6a9163a");
}

TEST(AuditChain, TextsDoNotRunIntoEachOther) {
  std::set<Digest> hashes;
  hashes.insert(chain({}, {.table = "ab", .tenant = "c", .topic = ""}).hash);
  hashes.insert(chain({}, {.table = "a", .tenant = "bc", .topic = ""}).hash);
  hashes.insert(chain({}, {.table = "", .tenant = "abc", .topic = ""}).hash);
  hashes.insert(chain({}, {.table = "", .tenant = "", .topic = "abc"}).hash);
  EXPECT_EQ(hashes.size(), 4U);
}

RC_GTEST_PROP(AuditChain, WholeLogHasNoProblem, ()) {
  const Log log = any_log(0);
  RC_ASSERT(problems(log, head_of(log)).empty());
  if (log.empty()) return;
  const auto place = any_place(log);
  const Log rest(log.begin() + static_cast<std::ptrdiff_t>(place) + 1, log.end());
  RC_ASSERT(problems(rest, head_of(log), head_of(log[place])).empty());
}

RC_GTEST_PROP(AuditChain, AnySingleEditIsReportedOnce, ()) {
  const Log log = any_log(1);
  Log edited = log;
  const auto place = any_place(log);
  edit(edited[place], *rc::gen::inRange<std::size_t>(0, entry_fields));
  RC_ASSERT(edited != log);
  const auto found = problems(edited, head_of(log));
  RC_ASSERT(found.size() == 1U);
  RC_ASSERT(found[0].starts_with("entry " + std::to_string(place + 1) + ": "));
}

RC_GTEST_PROP(AuditChain, AnyRemovalIsReportedOnce, ()) {
  Log log = any_log(1);
  const AuditHead head = head_of(log);
  const auto place = static_cast<std::ptrdiff_t>(any_place(log));
  const auto length =
      *rc::gen::inRange<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(log.size()) - place + 1);
  log.erase(log.begin() + place, log.begin() + place + length);
  const auto found = problems(log, head);
  RC_ASSERT(found.size() == 1U);
  RC_ASSERT(found[0].find(std::to_string(length)) != std::string::npos);
  RC_ASSERT(found[0].find("missing") != std::string::npos);
}

RC_GTEST_PROP(AuditChain, AnySwapIsFound, ()) {
  Log log = any_log(2);
  const AuditHead head = head_of(log);
  const auto one = any_place(log);
  const auto other = *rc::gen::distinctFrom(rc::gen::inRange<std::size_t>(0, log.size()), one);
  std::swap(log[one], log[other]);
  RC_ASSERT(!problems(log, head).empty());
}

/// Also when the numbers were put right afterwards.
RC_GTEST_PROP(AuditChain, ASwapWithTidiedNumbersIsFound, ()) {
  Log log = any_log(2);
  const AuditHead head = head_of(log);
  const auto one = any_place(log);
  const auto other = *rc::gen::distinctFrom(rc::gen::inRange<std::size_t>(0, log.size()), one);
  std::swap(log[one], log[other]);
  for (std::size_t at = 0; at < log.size(); ++at) log[at].number = at + 1;
  RC_ASSERT(!problems(log, head).empty());
}

RC_GTEST_PROP(AuditChain, AnyInsertionIsFound, ()) {
  Log log = any_log(1);
  const AuditHead head = head_of(log);
  const auto place = *rc::gen::inRange<std::size_t>(0, log.size() + 1);
  const AuditHead before = place == 0 ? AuditHead{} : head_of(log[place - 1]);
  log.insert(log.begin() + static_cast<std::ptrdiff_t>(place), chain(before, any_event()));
  RC_ASSERT(!problems(log, head).empty());
}

RC_GTEST_PROP(AuditChain, AnyDuplicateIsReportedOnce, ()) {
  Log log = any_log(1);
  const AuditHead head = head_of(log);
  const auto place = any_place(log);
  log.insert(log.begin() + static_cast<std::ptrdiff_t>(place), AuditEntry(log[place]));
  RC_ASSERT(problems(log, head).size() == 1U);
}

/// Who rewrites a tail needs the head as well.
RC_GTEST_PROP(AuditChain, ARewrittenTailIsFoundByTheHead, ()) {
  Log log = any_log(1);
  const AuditHead head = head_of(log);
  const auto place = any_place(log);
  edit(log[place], *rc::gen::inRange<std::size_t>(0, 12));
  for (std::size_t at = place; at < log.size(); ++at) {
    log[at] = chain(at == 0 ? AuditHead{} : head_of(log[at - 1]), log[at].event);
  }
  RC_ASSERT(problems(log, head).size() == 1U);
  RC_ASSERT(problems(log, head_of(log)).empty());
}

RC_GTEST_PROP(AuditChain, AWrongAnchorIsFound, ()) {
  const Log log = any_log(1);
  const auto place = any_place(log);
  AuditHead anchor = head_of(log[place]);
  const Log rest(log.begin() + static_cast<std::ptrdiff_t>(place) + 1, log.end());
  if (*rc::gen::arbitrary<bool>()) {
    anchor.hash[0] ^= 1;
  } else {
    anchor.number += *rc::gen::element<std::uint64_t>(1, 2, std::uint64_t(-1));
  }
  RC_ASSERT(!problems(rest, head_of(log), anchor).empty());
}

std::vector<std::string> anchored(const Log& log, const AuditHead& head, AuditHead anchor) {
  AuditAnchor kept(anchor);
  std::vector<std::string> found;
  const auto keep = [&](std::string problem) {
    if (!problem.empty()) found.push_back(std::move(problem));
  };
  for (const auto& entry : log) keep(kept.next(head_of(entry)));
  keep(kept.end(head));
  return found;
}

RC_GTEST_PROP(AuditAnchor, EveryEndThatTheLogEverHadIsFound, ()) {
  const Log log = any_log(0);
  RC_ASSERT(anchored(log, head_of(log), {}).empty());
  for (const auto& entry : log) {
    RC_ASSERT(anchored(log, head_of(log), head_of(entry)).empty());
    AuditHead other = head_of(entry);
    other.hash[*rc::gen::inRange<std::size_t>(0, 32)] ^= 1;
    RC_ASSERT(anchored(log, head_of(log), other).size() == 1U);
  }
}

/// Also where the rest was tidied up behind it: numbers, hashes and head.
RC_GTEST_PROP(AuditAnchor, ALogWrittenAnewDoesNotHaveIt, ()) {
  Log log = any_log(1);
  const auto place = any_place(log);
  const AuditHead anchor = head_of(log[place]);
  const auto edited = *rc::gen::inRange<std::size_t>(0, place + 1);
  edit(log[edited], *rc::gen::inRange<std::size_t>(0, 12));
  for (std::size_t at = edited; at < log.size(); ++at) {
    log[at] = chain(at == 0 ? AuditHead{} : head_of(log[at - 1]), log[at].event);
  }
  RC_ASSERT(problems(log, head_of(log)).empty());
  RC_ASSERT(anchored(log, head_of(log), anchor).size() == 1U);
  log.resize(*rc::gen::inRange<std::size_t>(0, place + 1));
  RC_ASSERT(anchored(log, head_of(log), anchor).size() == 1U);
}

TEST(AuditAnchor, SaysWhatIsWrong) {
  Log log;
  for (const auto* table : {"a", "b", "c"}) {
    log.push_back(chain(head_of(log), {.kind = AuditKind::paused, .table = table}));
  }
  using Strings = std::vector<std::string>;
  EXPECT_EQ(anchored(log, head_of(log), {2, sha256("another")}),
            Strings{"entry 2: is not the one that the anchor names; the log was written anew, or "
                    "the anchor is that of another log"});
  EXPECT_EQ(anchored({log[0], log[2]}, head_of(log), head_of(log[1])),
            Strings{"entry 2, which the anchor names, is missing"});
  EXPECT_EQ(anchored({}, head_of(log), head_of(log)),
            Strings{"entry 3, which the anchor names, is missing"})
      << "all deleted, the head left";
  EXPECT_EQ(anchored({log[0]}, head_of(log[0]), head_of(log)),
            Strings{"the log ends with entry 1, before the anchor at entry 3; it was cut or "
                    "replaced"});
  EXPECT_EQ(anchored(log, head_of(log), {0, sha256("x")}),
            Strings{"the anchor has a hash but no entry; it is not one"});
}

TEST(AuditVerifier, SaysWhatIsWrong) {
  Log log;
  for (const auto* table : {"a", "b", "c", "d"}) {
    log.push_back(chain(head_of(log), {.kind = AuditKind::paused, .table = table}));
  }
  const AuditHead head = head_of(log);
  const auto only = [](const std::vector<std::string>& found) {
    return found.size() == 1 ? found[0] : std::to_string(found.size()) + " problems";
  };

  Log edited = log;
  edited[1].event.actor = "mallory";
  EXPECT_EQ(only(problems(edited, head)),
            "entry 2: does not fit its hash; it was changed after it was written");
  edited = log;
  edited[1].number = 9;
  EXPECT_EQ(only(problems(edited, head)), "entry 2: its number was changed to 9");
  EXPECT_EQ(only(problems({log[0], log[3]}, head)), "entry 4: 2 entries are missing before it");
  EXPECT_EQ(only(problems({log[0], log[0], log[1], log[2], log[3]}, head)),
            "entry 1: stands where entry 2 should be; it is repeated, inserted or out of order");
  EXPECT_EQ(only(problems({log[0], log[1], log[2]}, head)),
            "the log ends with entry 3, its head names entry 4: 1 entry is missing at the end");
  EXPECT_EQ(only(problems(log, head_of(log[2]))),
            "the log ends with entry 4, its head names entry 3: entries were added past it, or "
            "the head was changed");
  EXPECT_EQ(only(problems(log, {4, {}})),
            "the last entry, 4, is not the one that the log's head names; one of them was changed");
  EXPECT_EQ(only(problems({log[1], log[2], log[3]}, head, {1, sha256("another")})),
            "entry 2: does not follow the entry before it; one of them was changed or put in "
            "another's place");
}

RC_GTEST_PROP(AuditJson, AnyEntryComesBackExactly, ()) {
  AuditHead head{*rc::gen::arbitrary<std::uint64_t>(), *any_digest()};
  const AuditEntry entry = chain(head, any_event());
  const std::string line = audit_json(entry);
  RC_ASSERT(line.find('\n') == std::string::npos);
  RC_ASSERT(json_problem(line).empty());
  const auto back = audit_from_json(line);
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == entry);
  RC_ASSERT(audit_json(*back) == line);
}

TEST(AuditJson, ReadsLikeThis) {
  AuditEntry entry;
  entry.number = 7;
  entry.event = {.kind = AuditKind::dead_letter,
                 .at = WallTime{std::chrono::microseconds(1'767'225'600'000'042)},
                 .table = "orders",
                 .tenant = "default",
                 .topic = "t",
                 .message_id = "m-1",
                 .attempt = 10,
                 .digest = {},
                 .traceparent = "",
                 .code = "PROVIDER.REJECTED",
                 .detail = "say \"no\"\n",
                 .actor = "\xff"};
  const std::string zeros(64, '0');
  EXPECT_EQ(audit_json(entry),
            R"({"number":7,"kind":"DeadLetter","at":"2026-01-01T00:00:00.000042Z",)"
            R"("table":"orders","tenant":"default","topic":"t","message_id":"m-1","attempt":10,)"
            R"("digest":")" +
                zeros +
                R"(","traceparent":"","code":"PROVIDER.REJECTED","detail":"say \"no\"\n",)"
                R"("actor":{"hex":"ff"},"previous":")" +
                zeros + R"(","hash":")" + zeros + R"("})");
}

std::string why_not(std::string_view line) {
  const auto entry = audit_from_json(line);
  if (entry.ok()) return "accepted";
  EXPECT_EQ(entry.error().code, Code::schema_validation_failed);
  constexpr std::string_view prefix = "not an entry of an audit log: ";
  EXPECT_TRUE(entry.error().message.starts_with(prefix)) << entry.error().message;
  return entry.error().message.substr(prefix.size());
}

std::string replaced_once(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(AuditJson, BrokenLinesSayWhatIsWrong) {
  const std::string line =
      audit_json(chain({}, {.kind = AuditKind::paused,
                            .at = WallTime{std::chrono::seconds(1'767'225'600)},
                            .table = "orders"}));
  EXPECT_EQ(why_not(line), "accepted");
  EXPECT_EQ(why_not(""), "not valid JSON at byte 1: the value is not complete");
  EXPECT_EQ(
      why_not(line.substr(0, line.size() - 1)),
      "not valid JSON at byte " + std::to_string(line.size()) + ": the value is not complete");
  EXPECT_EQ(why_not("[]"), "one JSON object is expected");
  EXPECT_EQ(why_not("{}"), R"("number" is missing)");
  EXPECT_EQ(why_not(replaced_once(line, R"("table":"orders",)", "")), R"("table" is missing)");
  EXPECT_EQ(why_not(replaced_once(line, R"("orders")", "5")),
            R"("table" must be a string, or {"hex":"…"} for bytes that are not UTF-8)");
  EXPECT_EQ(why_not(replaced_once(line, R"("orders")", R"({"hex":"f"})")),
            R"("table" must be a string, or {"hex":"…"} for bytes that are not UTF-8)");
  EXPECT_EQ(why_not(replaced_once(line, "\"Paused\"", "\"Slept\"")),
            R"("kind" "Slept" is not the name of an audit event)");
  EXPECT_EQ(why_not(replaced_once(line, R"("attempt":0)", R"("attempt":-1)")),
            R"("attempt" must be a whole number up to 4294967295)");
  EXPECT_EQ(why_not(replaced_once(line, R"("attempt":0)", R"("attempt":4294967296)")),
            R"("attempt" must be a whole number up to 4294967295)");
  EXPECT_EQ(why_not(replaced_once(line, R"("number":1,)", R"("number":1.5,)")),
            R"("number" must be a whole number up to 18446744073709551615)");
  EXPECT_EQ(why_not(replaced_once(line, R"("number":1,)", R"("number":"1",)")),
            R"("number" must be a whole number up to 18446744073709551615)");
  EXPECT_EQ(why_not(replaced_once(line, R"("digest":"0)", R"("digest":")")),
            R"("digest" must be 64 hexadecimal digits)");
  EXPECT_EQ(why_not(replaced_once(line, R"("digest":"0)", R"("digest":"g)")),
            R"("digest" must be 64 hexadecimal digits)");
  for (const auto* time : {"2026-02-30T00:00:00.000000Z", "2026-01-01T24:00:00.000000Z",
                           "2026-01-01T00:00:00Z", "2026-01-01 00:00:00.000000Z", "now"}) {
    EXPECT_EQ(why_not(replaced_once(line, "2026-01-01T00:00:00.000000Z", time)),
              R"("at" must be a time such as 2026-01-01T00:00:00.000000Z)")
        << time;
  }
  EXPECT_EQ(why_not(replaced_once(line, "{", R"({"approved":true,)")),
            "it has fields that an entry does not have");
  EXPECT_EQ(why_not(std::string(2000, '[') + std::string(2000, ']')),
            "not valid JSON at byte 513: nested deeper than 512 levels");
}

TEST(AuditJson, AnEditedLineIsFound) {
  const AuditEntry entry = chain({}, {.kind = AuditKind::purged, .actor = "ann"});
  const auto edited = audit_from_json(replaced_once(audit_json(entry), "ann", "bob"));
  EXPECT_EQ(AuditVerifier().next(edited.value()),
            "entry 1: does not fit its hash; it was changed after it was written");
}

}  // namespace
}  // namespace sagabox
