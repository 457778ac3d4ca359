#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::testing {

/// The lines with this text.
inline std::vector<RecordingLogger::Line> lines_of(const RecordingLogger& log,
                                                   std::string_view text) {
  auto lines = log.lines();
  std::erase_if(lines, [&](const RecordingLogger::Line& line) { return line.event != text; });
  return lines;
}

/// The fields that every role of the hub gives a line about a delivery (docs/hub.md).
inline void expect_about(const RecordingLogger::Line& line, const DeliveryRecord& delivery,
                         std::uint32_t attempt, DeliveryState state) {
  const auto field = [&](const std::string& name) {
    const auto found = line.fields.find(name);
    return found == line.fields.end() ? "(none)" : found->second;
  };
  EXPECT_EQ(field("correlation_id"), delivery.correlation_id) << line.event;
  EXPECT_EQ(field("event_id"), delivery.event.str()) << line.event;
  EXPECT_EQ(field("subscription_id"), delivery.subscription.str()) << line.event;
  EXPECT_EQ(field("delivery_id"), delivery.id.str()) << line.event;
  EXPECT_EQ(field("job_id"), attempt == 0 ? "" : delivery.id.str() + "/" + std::to_string(attempt))
      << line.event;
  EXPECT_EQ(field("delivery_status"), delivery_state_name(state)) << line.event;
  EXPECT_EQ(field("tenant"), delivery.tenant) << line.event;
}

}  // namespace sagabox::testing
