#include "bench/baselines/transports/nats_loop.hpp"

#include "bench/baselines/transports/attributes.hpp"
#include "bench/measure.hpp"

#include <nats/nats.h>

#include <stdexcept>

namespace sagabox::bench::baselines {
namespace {

void require_ok(natsStatus status) {
  if (status != NATS_OK) throw std::runtime_error(natsStatus_GetText(status));
}

void failed(jsCtx*, jsPubAckErr* error, void* closure) {
  *static_cast<bool*>(closure) = true;
  (void)error;
}

}  // namespace

double nats_loop(const std::string& url, const std::string& subject, std::uint32_t messages,
                 std::uint32_t under_way_max,
                 const std::function<spi::Parcel(std::uint32_t)>& parcel) {
  natsConnection* connection = nullptr;
  jsCtx* context = nullptr;
  bool has_failed = false;
  jsOptions options;
  require_ok(jsOptions_Init(&options));
  options.PublishAsync.MaxPending = under_way_max;
  options.PublishAsync.StallWait = 30'000;
  options.PublishAsync.ErrHandler = failed;
  options.PublishAsync.ErrHandlerClosure = &has_failed;
  require_ok(natsConnection_ConnectTo(&connection, url.c_str()));
  require_ok(natsConnection_JetStream(&context, connection, &options));
  const auto begin = Steady::now();
  for (std::uint32_t number = 0; number < messages; ++number) {
    const auto one = parcel(number);
    const auto payload = one.message->payload().view();
    natsMsg* message = nullptr;
    require_ok(natsMsg_Create(&message, subject.c_str(), nullptr, payload.data(),
                              static_cast<int>(payload.size())));
    require_ok(natsMsgHeader_Set(message, "Nats-Msg-Id", one.message->id().str().c_str()));
    require_ok(natsMsgHeader_Set(message, "content-type", one.message->content_type().c_str()));
    for_each_attribute(one, "ce-", [&](const std::string& name, const std::string& value) {
      require_ok(natsMsgHeader_Set(message, name.c_str(), value.c_str()));
    });
    require_ok(js_PublishMsgAsync(context, &message, nullptr));
  }
  require_ok(js_PublishAsyncComplete(context, nullptr));
  const auto rate = messages / seconds_since(begin);
  jsCtx_Destroy(context);
  natsConnection_Destroy(connection);
  if (has_failed) throw std::runtime_error("JetStream refused a message of the baseline");
  return rate;
}

}  // namespace sagabox::bench::baselines
