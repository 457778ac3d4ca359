-- Waking relays that sleep. A producer sends a NOTIFY only while a flag is up.

-- name: wake_set_asleep
-- $1 sleeper, $2 whether it sleeps. Nothing depends on it after a crash.
SELECT set_config('synchronous_commit', 'off', true),
       "{schema}".set_asleep('"{schema}"."{table}_flags"', $1, $2);

-- name: wake_listen
-- The name of the channel is that of the schema.
LISTEN "sagabox {schema}";

-- name: wake_take_sleeper
-- A number for this session; NULL if all are taken.
SELECT "{schema}".take_sleeper();
