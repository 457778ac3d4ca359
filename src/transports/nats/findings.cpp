#include "transports/nats/findings.hpp"

#include "core/text.hpp"
#include "transports/nats/client.hpp"
#include "transports/nats/publication.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <set>

namespace sagabox::nats {
namespace {

template <class T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* object) const noexcept { destroy(object); }
};
using ConnectionHandle =
    std::unique_ptr<natsConnection, Destroy<natsConnection, natsConnection_Destroy>>;
using ContextHandle = std::unique_ptr<jsCtx, Destroy<jsCtx, jsCtx_Destroy>>;
using StreamHandle = std::unique_ptr<jsStreamInfo, Destroy<jsStreamInfo, jsStreamInfo_Destroy>>;

constexpr Duration duplicates_min = std::chrono::minutes(1);

std::int64_t milliseconds_left(const Options& options, BootTime deadline) {
  const auto left = deadline - options.clock->boot_now();
  return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

Error unavailable(natsStatus status) {
  return {Code::provider_unavailable, "NATS: " + trouble(status)};
}

Result<ConnectionHandle> connected(const Options& options) {
  auto client = client_options(options, {});
  if (!client) return client.error();
  natsOptions_SetAllowReconnect(client->get(), false);
  natsConnection* raw = nullptr;
  if (const auto status = natsConnection_Connect(&raw, client->get()); status != NATS_OK) {
    return Error{Code::provider_unavailable, "cannot connect to NATS: " + trouble(status)};
  }
  return ConnectionHandle(raw);
}

/// The names of the streams that take it.
Result<std::vector<std::string>> streams_of(natsConnection* connection, const Options& options,
                                            const std::string& subject, BootTime deadline) {
  natsMsg* raw = nullptr;
  const auto status = natsConnection_RequestString(
      &raw, connection, (options.api_prefix + ".STREAM.NAMES").c_str(),
      (R"({"subject":")" + subject + R"("})").c_str(), milliseconds_left(options, deadline));
  if (status == NATS_NO_RESPONDERS) {
    return Error{Code::provider_unavailable,
                 "JetStream does not answer: it is switched off, or not for this account"};
  }
  if (status != NATS_OK) return unavailable(status);
  const MessageHandle message(raw);
  boost::system::error_code failed;
  const auto answer = boost::json::parse(
      std::string_view(natsMsg_GetData(raw), static_cast<std::size_t>(natsMsg_GetDataLength(raw))),
      failed);
  std::vector<std::string> names;
  const auto* const object = failed ? nullptr : answer.if_object();
  const auto* const streams = object == nullptr ? nullptr : object->if_contains("streams");
  if (streams == nullptr || !streams->is_array()) return names;
  for (const auto& name : streams->get_array()) {
    if (name.is_string()) names.emplace_back(name.get_string());
  }
  return names;
}

void judge(const jsStreamInfo& stream, std::vector<std::string>& findings) {
  const auto& config = *stream.Config;
  const auto say = [&](const std::string& what) {
    findings.push_back("stream " + std::string(config.Name) + ": " + what);
  };
  const bool in_cluster = stream.Cluster != nullptr && stream.Cluster->ReplicasLen >= 0 &&
                          stream.Cluster->Name != nullptr && *stream.Cluster->Name != '\0';
  if (config.NoAck) {
    say("acknowledges nothing (no_ack), so every message times out; switch that off");
  }
  if (config.Storage == js_MemoryStorage) {
    say("is kept in memory: a restart of its servers loses messages that were acknowledged; use "
        "file storage");
  } else if (config.Replicas <= 1) {
    say(std::string(in_cluster ? "has one replica in a cluster: the loss of that server loses "
                                 "messages that were acknowledged; use 3. Until then "
                               : "has one replica. ") +
        "the server writes to disk every sync_interval, 2 minutes unless configured: a loss of "
        "power loses what was acknowledged since, unless it says `sync_interval: always`. What it "
        "says cannot be seen from here");
  }
  if (config.Duplicates > 0 && Duration(config.Duplicates) < duplicates_min) {
    say("forgets message ids after " + duration_text(Duration(config.Duplicates)) +
        " (duplicate_window): a message sent again later than that is stored twice");
  }
}

}  // namespace

Result<std::vector<std::string>> find_trouble(const Options& options,
                                              const std::vector<std::string>& subjects,
                                              BootTime deadline) {
  auto connection = connected(options);
  if (!connection) return connection.error();
  jsOptions wait;
  jsOptions_Init(&wait);
  wait.Prefix = options.api_prefix.c_str();
  wait.Wait = milliseconds_left(options, deadline);
  jsCtx* raw_context = nullptr;
  if (const auto status = natsConnection_JetStream(&raw_context, connection->get(), &wait);
      status != NATS_OK) {
    return unavailable(status);
  }
  const ContextHandle context(raw_context);
  std::vector<std::string> findings;
  std::set<std::string> names;
  for (const auto& subject : subjects) {
    auto streams = streams_of(connection->get(), options, subject, deadline);
    if (!streams) return streams.error();
    if (streams->empty()) {
      findings.push_back("subject " + subject +
                         ": no stream takes it; create one with `nats stream "
                         "add --subjects`");
    }
    names.insert(streams->begin(), streams->end());
  }
  for (const auto& name : names) {
    jsStreamInfo* raw = nullptr;
    jsErrCode code{};
    if (const auto status = js_GetStreamInfo(&raw, context.get(), name.c_str(), nullptr, &code);
        status != NATS_OK) {
      return unavailable(status);
    }
    const StreamHandle stream(raw);
    judge(*stream, findings);
  }
  return findings;
}

}  // namespace sagabox::nats
