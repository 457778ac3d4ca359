-- groups 0, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at)
VALUES ($1, $2, $3, $4, $5, $6)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 0, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at)
VALUES ($1, $2, $3, $4, $5, $6);

-- groups 0, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 0, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 0, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at) AS m;

-- groups 0, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 1, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 1, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- groups 1, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 1, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 1, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority) AS m;

-- groups 1, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 2, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 2, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- groups 2, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 2, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 2, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers) AS m;

-- groups 2, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 3, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 3, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- groups 3, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 3, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 3, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers) AS m;

-- groups 3, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 4, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $7 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $7 END)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 4, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $7 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $7 END);

-- groups 4, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $7 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $7 END)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 4, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.timestamptz[]) AS not_before) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 4, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.timestamptz[]) AS not_before) AS m;

-- groups 4, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.timestamptz[]) AS not_before) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 5, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, CASE WHEN $11 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $11 END)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 5, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, CASE WHEN $11 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $11 END);

-- groups 5, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, CASE WHEN $11 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $11 END)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 5, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::pg_catalog.timestamptz[]) AS not_before) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 5, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::pg_catalog.timestamptz[]) AS not_before) AS m;

-- groups 5, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::pg_catalog.timestamptz[]) AS not_before) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 6, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, CASE WHEN $10 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $10 END)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 6, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, CASE WHEN $10 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $10 END);

-- groups 6, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, CASE WHEN $10 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $10 END)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 6, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers, pg_catalog.unnest($10::pg_catalog.timestamptz[]) AS not_before) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 6, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers, pg_catalog.unnest($10::pg_catalog.timestamptz[]) AS not_before) AS m;

-- groups 6, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers, pg_catalog.unnest($10::pg_catalog.timestamptz[]) AS not_before) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 7, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, CASE WHEN $14 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $14 END)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 7, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, CASE WHEN $14 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $14 END);

-- groups 7, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, CASE WHEN $14 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $14 END)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 7, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers, pg_catalog.unnest($14::pg_catalog.timestamptz[]) AS not_before) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 7, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers, pg_catalog.unnest($14::pg_catalog.timestamptz[]) AS not_before) AS m;

-- groups 7, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers, m.not_before, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers, pg_catalog.unnest($14::pg_catalog.timestamptz[]) AS not_before) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 8, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 8, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- groups 8, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 8, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($8::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($9::pg_catalog.text[]) AS request_id, pg_catalog.unnest($10::pg_catalog.text[]) AS correlation_id) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 8, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($8::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($9::pg_catalog.text[]) AS request_id, pg_catalog.unnest($10::pg_catalog.text[]) AS correlation_id) AS m;

-- groups 8, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($8::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($9::pg_catalog.text[]) AS request_id, pg_catalog.unnest($10::pg_catalog.text[]) AS correlation_id) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 9, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 9, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- groups 9, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 9, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($12::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($13::pg_catalog.text[]) AS request_id, pg_catalog.unnest($14::pg_catalog.text[]) AS correlation_id) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 9, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($12::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($13::pg_catalog.text[]) AS request_id, pg_catalog.unnest($14::pg_catalog.text[]) AS correlation_id) AS m;

-- groups 9, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($12::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($13::pg_catalog.text[]) AS request_id, pg_catalog.unnest($14::pg_catalog.text[]) AS correlation_id) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 10, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 10, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- groups 10, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 10, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers, pg_catalog.unnest($10::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($11::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($12::pg_catalog.text[]) AS request_id, pg_catalog.unnest($13::pg_catalog.text[]) AS correlation_id) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 10, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers, pg_catalog.unnest($10::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($11::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($12::pg_catalog.text[]) AS request_id, pg_catalog.unnest($13::pg_catalog.text[]) AS correlation_id) AS m;

-- groups 10, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers, pg_catalog.unnest($10::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($11::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($12::pg_catalog.text[]) AS request_id, pg_catalog.unnest($13::pg_catalog.text[]) AS correlation_id) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 11, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 11, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17);

-- groups 11, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 11, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers, pg_catalog.unnest($14::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($15::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($16::pg_catalog.text[]) AS request_id, pg_catalog.unnest($17::pg_catalog.text[]) AS correlation_id) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 11, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers, pg_catalog.unnest($14::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($15::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($16::pg_catalog.text[]) AS request_id, pg_catalog.unnest($17::pg_catalog.text[]) AS correlation_id) AS m;

-- groups 11, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, traceparent, tracestate, request_id, correlation_id)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers, m.traceparent, m.tracestate, m.request_id, m.correlation_id
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers, pg_catalog.unnest($14::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($15::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($16::pg_catalog.text[]) AS request_id, pg_catalog.unnest($17::pg_catalog.text[]) AS correlation_id) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 12, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, CASE WHEN $7 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $7 END)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 12, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, CASE WHEN $7 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $7 END);

-- groups 12, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, CASE WHEN $7 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $7 END)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 12, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($8::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($9::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($10::pg_catalog.text[]) AS request_id, pg_catalog.unnest($11::pg_catalog.text[]) AS correlation_id) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 12, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($8::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($9::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($10::pg_catalog.text[]) AS request_id, pg_catalog.unnest($11::pg_catalog.text[]) AS correlation_id) AS m;

-- groups 12, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($8::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($9::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($10::pg_catalog.text[]) AS request_id, pg_catalog.unnest($11::pg_catalog.text[]) AS correlation_id) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 13, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, CASE WHEN $11 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $11 END)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 13, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, CASE WHEN $11 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $11 END);

-- groups 13, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, CASE WHEN $11 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $11 END)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 13, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($12::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($13::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($14::pg_catalog.text[]) AS request_id, pg_catalog.unnest($15::pg_catalog.text[]) AS correlation_id) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 13, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($12::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($13::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($14::pg_catalog.text[]) AS request_id, pg_catalog.unnest($15::pg_catalog.text[]) AS correlation_id) AS m;

-- groups 13, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($12::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($13::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($14::pg_catalog.text[]) AS request_id, pg_catalog.unnest($15::pg_catalog.text[]) AS correlation_id) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 14, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, CASE WHEN $10 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $10 END)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 14, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, CASE WHEN $10 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $10 END);

-- groups 14, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, CASE WHEN $10 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $10 END)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 14, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers, pg_catalog.unnest($10::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($11::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($12::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($13::pg_catalog.text[]) AS request_id, pg_catalog.unnest($14::pg_catalog.text[]) AS correlation_id) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 14, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers, pg_catalog.unnest($10::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($11::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($12::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($13::pg_catalog.text[]) AS request_id, pg_catalog.unnest($14::pg_catalog.text[]) AS correlation_id) AS m;

-- groups 14, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.is_json, m.content_type, m.headers, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::boolean[]) AS is_json, pg_catalog.unnest($8::pg_catalog.text[]) AS content_type, pg_catalog.unnest($9::pg_catalog.text[]) AS headers, pg_catalog.unnest($10::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($11::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($12::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($13::pg_catalog.text[]) AS request_id, pg_catalog.unnest($14::pg_catalog.text[]) AS correlation_id) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

-- groups 15, one message, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, CASE WHEN $14 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $14 END)
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 15, one message, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, CASE WHEN $14 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $14 END);

-- groups 15, one message, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, CASE WHEN $14 OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN $14 END)
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 15, a batch, fresh ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers, pg_catalog.unnest($14::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($15::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($16::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($17::pg_catalog.text[]) AS request_id, pg_catalog.unnest($18::pg_catalog.text[]) AS correlation_id) AS m
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid;

-- groups 15, a batch, fresh ids, blind
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers, pg_catalog.unnest($14::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($15::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($16::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($17::pg_catalog.text[]) AS request_id, pg_catalog.unnest($18::pg_catalog.text[]) AS correlation_id) AS m;

-- groups 15, a batch, known ids
INSERT INTO "{schema}"."{table}_outbox" (id, topic, key, payload, digest, occurred_at, tenant, aggregate_type, aggregate_id, priority, is_json, content_type, headers, not_before, traceparent, tracestate, request_id, correlation_id, due)
SELECT m.id, m.topic, m.key, m.payload, m.digest, m.occurred_at, m.tenant, m.aggregate_type, m.aggregate_id, m.priority, m.is_json, m.content_type, m.headers, m.not_before, m.traceparent, m.tracestate, m.request_id, m.correlation_id, CASE WHEN m.not_before OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN m.not_before END
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id, pg_catalog.unnest($2::pg_catalog.text[]) AS topic, pg_catalog.unnest($3::pg_catalog.text[]) AS key, pg_catalog.unnest($4::pg_catalog.bytea[]) AS payload, pg_catalog.unnest($5::pg_catalog.bytea[]) AS digest, pg_catalog.unnest($6::pg_catalog.timestamptz[]) AS occurred_at, pg_catalog.unnest($7::pg_catalog.text[]) AS tenant, pg_catalog.unnest($8::pg_catalog.text[]) AS aggregate_type, pg_catalog.unnest($9::pg_catalog.text[]) AS aggregate_id, pg_catalog.unnest($10::smallint[]) AS priority, pg_catalog.unnest($11::boolean[]) AS is_json, pg_catalog.unnest($12::pg_catalog.text[]) AS content_type, pg_catalog.unnest($13::pg_catalog.text[]) AS headers, pg_catalog.unnest($14::pg_catalog.timestamptz[]) AS not_before, pg_catalog.unnest($15::pg_catalog.text[]) AS traceparent, pg_catalog.unnest($16::pg_catalog.text[]) AS tracestate, pg_catalog.unnest($17::pg_catalog.text[]) AS request_id, pg_catalog.unnest($18::pg_catalog.text[]) AS correlation_id) AS m
ON CONFLICT (id, tenant) DO NOTHING
RETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid, id, tenant;

