#pragma once

#include "saga/instance.hpp"
#include "saga/plan.hpp"

#include <sagabox/saga_record.hpp>
#include <sagabox/time.hpp>

#include <optional>

/// What a saga waits for, as it is stored beside its body: for those who count sagas without
/// reading them.
namespace sagabox::saga {

SagaPersonWait person_wait(const Plan& plan, const Instance& instance);

/// When its owner is late. A call that runs has until its deadline, also the next one of a retry,
/// which begins without being stored. Null: nothing is due.
std::optional<WallTime> overdue_from(const Plan& plan, const Instance& instance);

}  // namespace sagabox::saga
