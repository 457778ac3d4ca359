-- Waking sleeping relays. A producer sends a NOTIFY only while a flag is up.

-- name: wake_set_asleep
-- $1 flags, the name of their sequence; $2 sleeper, $3 whether it sleeps. The flag need not survive
-- a crash.
SELECT set_config('synchronous_commit', 'off', true),
       "{schema}".set_asleep(format('%I.%I', '{schema}', $1::text)::regclass, $2, $3);

-- name: wake_listen
-- The name of the channel is that of the schema.
LISTEN "sagabox {schema}";

-- name: wake_take_sleeper
-- A number for this session; NULL if all are taken.
SELECT "{schema}".take_sleeper();
