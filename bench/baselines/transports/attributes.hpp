#pragma once

#include <sagabox/spi/transport.hpp>

#include <string>

namespace sagabox::bench::baselines {

/// What a program without us would put beside a payload: the same attributes, as strings.
template <class Add>
void for_each_attribute(const spi::Parcel& parcel, const std::string& prefix, const Add& add) {
  const auto& message = *parcel.message;
  add(prefix + "specversion", "1.0");
  add(prefix + "id", message.id().str());
  add(prefix + "source", parcel.source.empty() ? "/sagabox/bench" : parcel.source);
  add(prefix + "type", message.topic());
  add(prefix + "time", "2026-01-01T00:00:00.000Z");
  if (message.has_key()) add(prefix + "partitionkey", message.key());
  add(prefix + "tenant", message.tenant());
  if (!parcel.source.empty()) return;
  add(prefix + "outboxsequence", std::to_string(parcel.sequence.value));
  add(prefix + "outboxshard", std::to_string(parcel.shard.value));
  add(prefix + "outboxepoch", std::to_string(parcel.epoch.value));
  add(prefix + "outboxattempt", std::to_string(parcel.attempt));
}

}  // namespace sagabox::bench::baselines
