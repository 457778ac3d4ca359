#pragma once

#include "feed/tracker.hpp"
#include "simulation/settings.hpp"
#include "support/forwarding.hpp"

#include <sagabox/spi/gate.hpp>
#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/spi/ownership_store.hpp>
#include <sagabox/store.hpp>

#include <functional>
#include <memory>

namespace sagabox::simulation {

using testing::ForwardingAdmin;
using testing::ForwardingControl;
using testing::ForwardingStore;

/// Who holds what right now.
using Truth = std::function<spi::Census()>;

/// The store as the variant has it: broken, or passed on.
std::unique_ptr<spi::OutboxStore> store_of(Variant variant, spi::OutboxStore& store, Truth truth,
                                           const spi::Gate& gate);

std::unique_ptr<spi::OutboxAdminStore> admin_of(Variant variant, spi::OutboxAdminStore& store);
std::unique_ptr<spi::ControlStore> control_of(Variant variant, Store& store);

feed::TrackerFactory tracker_of(Variant variant);

}  // namespace sagabox::simulation
