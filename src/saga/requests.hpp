#pragma once

#include <sagabox/result.hpp>
#include <sagabox/saga.hpp>
#include <sagabox/saga_record.hpp>

namespace sagabox::saga {

/// The row of the inbox that starts a saga. The id is drawn unless there is a key.
/// SCHEMA.VALIDATION_FAILED says what is wrong.
Result<SagaCommand> start_command(const SagaStart& start, UlidSource& ids);
/// `request.definition` is not empty.
Result<SagaCommand> request_command(const SagaRequest& request, UlidSource& ids);
/// TX.IDEMPOTENT_MISMATCH: there is a result of this command id, for another saga.
Error id_of_another_saga(const CommandId& id);
/// Why a command was refused. Its reason may begin with a code; without one it is TX.INVALID_STATE.
Error refusal_error(const SagaCommandResult& result);

}  // namespace sagabox::saga
