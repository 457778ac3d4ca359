PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE sagabox_migration (
  number     INTEGER NOT NULL,
  outbox     TEXT    NOT NULL DEFAULT '',
  name       TEXT    NOT NULL,
  applied_at INTEGER NOT NULL,
  PRIMARY KEY (number, outbox)
) STRICT, WITHOUT ROWID;
INSERT INTO sagabox_migration VALUES(1,'','outbox',1794992333764502);
INSERT INTO sagabox_migration VALUES(1,'orders','outbox',1794992333794247);
CREATE TABLE sagabox_outbox (
  name        TEXT    PRIMARY KEY,
  seq         INTEGER NOT NULL DEFAULT 0,
  gone        INTEGER NOT NULL DEFAULT 0,
  waiting     INTEGER NOT NULL DEFAULT 0,
  done        INTEGER NOT NULL DEFAULT 0,
  dead        INTEGER NOT NULL DEFAULT 0,
  quarantined INTEGER NOT NULL DEFAULT 0,
  taken       INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO sagabox_outbox VALUES('orders',28,11,6,5,2,3,2);
CREATE TABLE sagabox_owner (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  scope  TEXT    NOT NULL,
  shard  INTEGER NOT NULL,
  owner  TEXT,
  epoch  INTEGER NOT NULL DEFAULT 0,
  UNIQUE (scope, shard)
) STRICT;
INSERT INTO sagabox_owner VALUES(1,'outbox:orders',0,NULL,1);
INSERT INTO sagabox_owner VALUES(2,'purge:orders',0,NULL,1);
INSERT INTO sagabox_owner VALUES(3,'replay:orders',0,NULL,1);
CREATE TABLE sagabox_pause (
  outbox TEXT    NOT NULL,
  topic  TEXT    NOT NULL DEFAULT '',
  actor  TEXT    NOT NULL DEFAULT '',
  note   TEXT    NOT NULL DEFAULT '',
  since  INTEGER NOT NULL,
  PRIMARY KEY (outbox, topic)
) STRICT, WITHOUT ROWID;
CREATE TABLE sagabox_replay_job (
  outbox         TEXT    NOT NULL,
  id             INTEGER NOT NULL,
  state          TEXT    NOT NULL DEFAULT 'running'
                         CHECK (state IN ('running', 'stopped', 'finished', 'failed')),
  from_state     TEXT    NOT NULL CHECK (from_state IN ('dead', 'quarantined', 'done')),
  tenant         TEXT,
  topic          TEXT,
  aggregate_type TEXT,
  key            TEXT,
  code           TEXT,
  ended_from     INTEGER,
  ended_until    INTEGER,
  first          INTEGER,
  last_wanted    INTEGER,
  retrying       INTEGER NOT NULL DEFAULT 0,
  cursor         INTEGER NOT NULL DEFAULT 0,
  last           INTEGER NOT NULL DEFAULT 0,
  rate_max       INTEGER NOT NULL DEFAULT 0,
  matched        INTEGER NOT NULL DEFAULT 0,
  replayed       INTEGER NOT NULL DEFAULT 0,
  actor          TEXT    NOT NULL DEFAULT '',
  error          TEXT    NOT NULL DEFAULT '',
  created_at     INTEGER NOT NULL,
  changed_at     INTEGER NOT NULL,
  PRIMARY KEY (outbox, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE sagabox_audit_log (
  number      INTEGER PRIMARY KEY,
  kind        TEXT    NOT NULL,
  at          INTEGER NOT NULL,
  outbox      BLOB    NOT NULL,
  tenant      BLOB    NOT NULL,
  topic       BLOB    NOT NULL,
  message_id  BLOB    NOT NULL,
  attempt     INTEGER NOT NULL DEFAULT 0,
  digest      BLOB    NOT NULL,
  traceparent BLOB    NOT NULL,
  code        BLOB    NOT NULL,
  detail      BLOB    NOT NULL,
  actor       BLOB    NOT NULL,
  previous    BLOB    NOT NULL,
  hash        BLOB    NOT NULL
) STRICT;
INSERT INTO sagabox_audit_log VALUES(1,'DeadLetter',1794992335383376,X'6f7264657273',X'61636d65',X'73686f702e6f726465722e646561642e7631',X'61636d652d646561642d32',1,X'f3e0792e105e2bfe88e7b3bab5097b93a59a8c5b239fe3c6f87a8d0f72ab9032',X'',X'50524f56494445522e52454a4543544544',X'687474703a2f2f3132372e302e302e313a31383737312f3432323a203432322066726f6d203132372e302e302e31',X'',X'0000000000000000000000000000000000000000000000000000000000000000',X'61d0da9e48854e71aa5977dd6be6394a118dae6eb557d3503914263e60519be3');
INSERT INTO sagabox_audit_log VALUES(2,'DeadLetter',1794992335393147,X'6f7264657273',X'6f74686572',X'73686f702e6f726465722e646561642e7631',X'6f746865722d646561642d32',1,X'f3e0792e105e2bfe88e7b3bab5097b93a59a8c5b239fe3c6f87a8d0f72ab9032',X'',X'50524f56494445522e52454a4543544544',X'687474703a2f2f3132372e302e302e313a31383737312f3432323a203432322066726f6d203132372e302e302e31',X'',X'61d0da9e48854e71aa5977dd6be6394a118dae6eb557d3503914263e60519be3',X'8bde552611f0765f060cfb1d89dc0a187178dfdaea835a3adb89a4511ed496cc');
INSERT INTO sagabox_audit_log VALUES(3,'DeadLetter',1794992336316270,X'6f7264657273',X'61636d65',X'73686f702e6f726465722e646561642e7631',X'61636d652d646561642d31',1,X'215ddd5567ca2590efd4ea109b4e56cbe591e2676fbf54a9262692c539166da6',X'',X'50524f56494445522e52454a4543544544',X'687474703a2f2f3132372e302e302e313a31383737312f3432323a203432322066726f6d203132372e302e302e31',X'',X'8bde552611f0765f060cfb1d89dc0a187178dfdaea835a3adb89a4511ed496cc',X'0596727cc420aec9d17006da6232bf8d1e9325e41790db3efd21c1d5959f6f07');
INSERT INTO sagabox_audit_log VALUES(4,'DeadLetter',1794992336320577,X'6f7264657273',X'6f74686572',X'73686f702e6f726465722e646561642e7631',X'6f746865722d646561642d31',1,X'215ddd5567ca2590efd4ea109b4e56cbe591e2676fbf54a9262692c539166da6',X'',X'50524f56494445522e52454a4543544544',X'687474703a2f2f3132372e302e302e313a31383737312f3432323a203432322066726f6d203132372e302e302e31',X'',X'0596727cc420aec9d17006da6232bf8d1e9325e41790db3efd21c1d5959f6f07',X'0e49b95264044e91d7c445a79f59d24b9ccbcbfb2523fbbc29d8b91ec27594d6');
INSERT INTO sagabox_audit_log VALUES(5,'Quarantined',1794992337131623,X'6f7264657273',X'61636d65',X'73686f702e6f726465722e646f6e652e7631',X'61636d652d61736964652d31',0,X'b300633032f2001b3ee950efc80290f4ad20b887fadc76c19af57774ad110354',X'',X'',X'77726f6e672063757272656e6379',X'616e6e',X'0e49b95264044e91d7c445a79f59d24b9ccbcbfb2523fbbc29d8b91ec27594d6',X'258f7b4dba06246af042592c19576b1b2b96c2e6564a9d62df025323a69a94c4');
INSERT INTO sagabox_audit_log VALUES(6,'Quarantined',1794992337224508,X'6f7264657273',X'6f74686572',X'73686f702e6f726465722e646f6e652e7631',X'6f746865722d61736964652d31',0,X'b300633032f2001b3ee950efc80290f4ad20b887fadc76c19af57774ad110354',X'',X'',X'61736b206669727374',X'616e6e',X'258f7b4dba06246af042592c19576b1b2b96c2e6564a9d62df025323a69a94c4',X'68ecc94188765dfa66016db0561b754903f1000fc21c16b1e5f3ed06f33178c1');
INSERT INTO sagabox_audit_log VALUES(7,'Quarantined',1794992337224508,X'6f7264657273',X'6f74686572',X'73686f702e6f726465722e646561642e7631',X'6f746865722d646561642d32',1,X'f3e0792e105e2bfe88e7b3bab5097b93a59a8c5b239fe3c6f87a8d0f72ab9032',X'',X'',X'61736b206669727374',X'616e6e',X'68ecc94188765dfa66016db0561b754903f1000fc21c16b1e5f3ed06f33178c1',X'19a14a91bc34af306ce2bfd0f148c06f4255e03c3674670e50a374235d3f993f');
INSERT INTO sagabox_audit_log VALUES(8,'Replayed',1794992337300544,X'6f7264657273',X'61636d65',X'73686f702e6f726465722e646561642e7631',X'61636d652d646561642d32',1,X'f3e0792e105e2bfe88e7b3bab5097b93a59a8c5b239fe3c6f87a8d0f72ab9032',X'',X'',X'',X'616e6e',X'19a14a91bc34af306ce2bfd0f148c06f4255e03c3674670e50a374235d3f993f',X'2376e90f629f4c541f165be1de73d7c48c1381418d2a1ed7db16da9af86decb4');
CREATE TABLE sagabox_audit_head (
  only_one INTEGER PRIMARY KEY DEFAULT 1 CHECK (only_one = 1),
  number   INTEGER NOT NULL,
  hash     BLOB    NOT NULL
) STRICT;
INSERT INTO sagabox_audit_head VALUES(1,8,X'2376e90f629f4c541f165be1de73d7c48c1381418d2a1ed7db16da9af86decb4');
CREATE TABLE IF NOT EXISTS "orders_pending" (
  place           INTEGER PRIMARY KEY CHECK (place BETWEEN 1 AND 140737488355327),
  seq             INTEGER GENERATED ALWAYS AS (place & 35184372088831) VIRTUAL,
  id              TEXT    NOT NULL,
  due             INTEGER CHECK ((due IS NULL) = (place >= 35184372088832)),
  retrying        INTEGER NOT NULL DEFAULT 0,
  attempts        INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  failed_for_good INTEGER NOT NULL DEFAULT 0,
  replays         INTEGER NOT NULL DEFAULT 0,
  targets_done    INTEGER,
  written_at      INTEGER NOT NULL,
  tenant          TEXT    NOT NULL,
  topic           TEXT    NOT NULL,
  aggregate_type  TEXT    NOT NULL,
  aggregate_id    TEXT,
  key             TEXT    CHECK (key <> ''),
  priority        INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
  is_json         INTEGER NOT NULL,
  digest          BLOB,
  content_type    TEXT    NOT NULL,
  headers         TEXT,
  occurred_at     INTEGER NOT NULL,
  not_before      INTEGER,
  traceparent     TEXT,
  tracestate      TEXT,
  request_id      TEXT,
  correlation_id  TEXT,
  code            TEXT,
  error           TEXT,
  history         TEXT,
  payload         BLOB    NOT NULL
) STRICT;
INSERT INTO orders_pending VALUES(5,'acme-retry-1',1794992925386701,1,1,1,0,0,1794992334100817,'acme','shop.order.retry.v1','__GLOBAL__',NULL,'customer-9',1,1,X'11d0a8967009cbcdf468f09e5b09e73e7119b528c35a0e0b23f2ae052786b8fa','application/json',NULL,1794992334099180,NULL,NULL,NULL,NULL,NULL,'PROVIDER.UNAVAILABLE','http://127.0.0.1:18771/500: 500 from 127.0.0.1','[{"number":1,"at":1794992336320577,"code":"PROVIDER.UNAVAILABLE","error":"http://127.0.0.1:18771/500: 500 from 127.0.0.1"}]',X'7b226e223a357d');
INSERT INTO orders_pending VALUES(6,'acme-retry-2',1794993134073745,1,1,1,0,0,1794992334178684,'acme','shop.order.retry.v1','__GLOBAL__',NULL,NULL,1,1,X'ade0bebbcdd770e830221a9ea5ea03aa975a54ba2b90f7077c3b5e0754faf3c8','application/json',NULL,1794992334173335,NULL,NULL,NULL,NULL,NULL,'PROVIDER.UNAVAILABLE','http://127.0.0.1:18771/500: 500 from 127.0.0.1','[{"number":1,"at":1794992335383376,"code":"PROVIDER.UNAVAILABLE","error":"http://127.0.0.1:18771/500: 500 from 127.0.0.1"}]',X'7b226e223a367d');
INSERT INTO orders_pending VALUES(7,'acme-later-1',4070908800000000,0,0,0,0,NULL,1794992334238375,'acme','shop.order.done.v1','__GLOBAL__',NULL,NULL,1,1,X'1dd42de9287c1b6a96c617376c0df6b8304485783ed0b4803f1aac0f119471a5','application/json',NULL,1794992334232696,4070908800000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a377d');
INSERT INTO orders_pending VALUES(13,'other-retry-1',1794993172882623,1,1,1,0,0,1794992334658669,'other','shop.order.retry.v1','__GLOBAL__',NULL,'customer-5',1,1,X'11d0a8967009cbcdf468f09e5b09e73e7119b528c35a0e0b23f2ae052786b8fa','application/json',NULL,1794992334652971,NULL,NULL,NULL,NULL,NULL,'PROVIDER.UNAVAILABLE','http://127.0.0.1:18771/500: 500 from 127.0.0.1','[{"number":1,"at":1794992335393147,"code":"PROVIDER.UNAVAILABLE","error":"http://127.0.0.1:18771/500: 500 from 127.0.0.1"}]',X'7b226e223a357d');
INSERT INTO orders_pending VALUES(14,'other-retry-2',1794992730325785,1,1,1,0,0,1794992334735251,'other','shop.order.retry.v1','__GLOBAL__',NULL,NULL,1,1,X'ade0bebbcdd770e830221a9ea5ea03aa975a54ba2b90f7077c3b5e0754faf3c8','application/json',NULL,1794992334733707,NULL,NULL,NULL,NULL,NULL,'PROVIDER.UNAVAILABLE','http://127.0.0.1:18771/500: 500 from 127.0.0.1','[{"number":1,"at":1794992335393147,"code":"PROVIDER.UNAVAILABLE","error":"http://127.0.0.1:18771/500: 500 from 127.0.0.1"}]',X'7b226e223a367d');
INSERT INTO orders_pending VALUES(15,'other-later-1',4070908800000000,0,0,0,0,NULL,1794992334800550,'other','shop.order.done.v1','__GLOBAL__',NULL,NULL,1,1,X'1dd42de9287c1b6a96c617376c0df6b8304485783ed0b4803f1aac0f119471a5','application/json',NULL,1794992334798728,4070908800000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a377d');
INSERT INTO orders_pending VALUES(35184372088860,'sql-new-2',NULL,0,0,0,0,NULL,1794992337952016,'other','shop.order.done.v1','__GLOBAL__',NULL,NULL,0,1,NULL,'application/json',NULL,1794992337952016,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a31357d');
INSERT INTO orders_pending VALUES(105553116266514,'acme-dead-2',NULL,0,0,0,1,NULL,1794992337301024,'acme','shop.order.dead.v1','__GLOBAL__',NULL,NULL,1,1,X'f3e0792e105e2bfe88e7b3bab5097b93a59a8c5b239fe3c6f87a8d0f72ab9032','application/json',NULL,1794992334028890,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a347d');
INSERT INTO orders_pending VALUES(105553116266515,'acme-new-1',NULL,0,0,0,0,NULL,1794992337367389,'acme','shop.order.done.v1','__GLOBAL__',NULL,'customer-7',1,1,X'3ff6698e101869f36e088516c6c0ca6495c40c0abdae72f6e4d124610dace7b0','application/json',NULL,1794992337365260,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a31307d');
INSERT INTO orders_pending VALUES(105553116266516,'acme-new-2',NULL,0,0,0,0,NULL,1794992337445255,'acme','shop.order.done.v1','__GLOBAL__',NULL,'customer-9',1,1,X'3f39ec9d8aa7c48412f853938efb9baf2ecaf0d8e3d99bd78044572348a46bae','application/json',NULL,1794992337443299,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a31317d');
INSERT INTO orders_pending VALUES(105553116266517,'acme-new-3',NULL,0,0,0,0,NULL,1794992337518382,'acme','shop.order.done.v1','__GLOBAL__',NULL,'customer-7',1,1,X'78e629c92dd3d2d83954a8ea8d607938a69a1c5e828a7e406abcd6ccb1fd0de0','application/json',NULL,1794992337512710,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a31327d');
INSERT INTO orders_pending VALUES(105553116266518,'acme-new-4',NULL,0,0,0,0,NULL,1794992337590649,'acme','shop.order.done.v1','__GLOBAL__',NULL,NULL,1,1,X'47be4ac5a4037bf89b3e7681587afbf75c3d2ea6167953e8700d73adeaed5a3f','application/json',NULL,1794992337584752,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a31337d');
INSERT INTO orders_pending VALUES(105553116266519,'other-new-1',NULL,0,0,0,0,NULL,1794992337659762,'other','shop.order.done.v1','__GLOBAL__',NULL,'customer-7',1,1,X'3ff6698e101869f36e088516c6c0ca6495c40c0abdae72f6e4d124610dace7b0','application/json',NULL,1794992337658184,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a31307d');
INSERT INTO orders_pending VALUES(105553116266520,'other-new-2',NULL,0,0,0,0,NULL,1794992337720637,'other','shop.order.done.v1','__GLOBAL__',NULL,'customer-9',1,1,X'3f39ec9d8aa7c48412f853938efb9baf2ecaf0d8e3d99bd78044572348a46bae','application/json',NULL,1794992337718108,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a31317d');
INSERT INTO orders_pending VALUES(105553116266521,'other-new-3',NULL,0,0,0,0,NULL,1794992337822182,'other','shop.order.done.v1','__GLOBAL__',NULL,'customer-7',1,1,X'78e629c92dd3d2d83954a8ea8d607938a69a1c5e828a7e406abcd6ccb1fd0de0','application/json',NULL,1794992337815858,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a31327d');
INSERT INTO orders_pending VALUES(105553116266522,'other-new-4',NULL,0,0,0,0,NULL,1794992337890868,'other','shop.order.done.v1','__GLOBAL__',NULL,NULL,1,1,X'47be4ac5a4037bf89b3e7681587afbf75c3d2ea6167953e8700d73adeaed5a3f','application/json',NULL,1794992337888935,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a31337d');
INSERT INTO orders_pending VALUES(105553116266523,'sql-new-1',NULL,0,0,0,0,NULL,1794992337923008,'acme','shop.order.done.v1','__GLOBAL__',NULL,'customer-8',1,1,NULL,'application/json',NULL,1794992337923008,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a31347d');
CREATE TABLE IF NOT EXISTS "orders_dead" (
  seq             INTEGER PRIMARY KEY,
  id              TEXT    NOT NULL,
  state           TEXT    NOT NULL CHECK (state IN ('dead', 'quarantined')),
  ended_at        INTEGER NOT NULL,
  note            TEXT,
  attempts        INTEGER NOT NULL CHECK (attempts >= 0),
  failed_for_good INTEGER NOT NULL DEFAULT 0,
  replays         INTEGER NOT NULL,
  written_at      INTEGER NOT NULL,
  tenant          TEXT    NOT NULL,
  topic           TEXT    NOT NULL,
  aggregate_type  TEXT    NOT NULL,
  aggregate_id    TEXT,
  key             TEXT,
  priority        INTEGER NOT NULL,
  is_json         INTEGER NOT NULL,
  digest          BLOB,
  content_type    TEXT    NOT NULL,
  headers         TEXT,
  occurred_at     INTEGER NOT NULL,
  not_before      INTEGER,
  traceparent     TEXT,
  tracestate      TEXT,
  request_id      TEXT,
  correlation_id  TEXT,
  code            TEXT,
  error           TEXT,
  history         TEXT,
  payload         BLOB    NOT NULL
) STRICT;
INSERT INTO orders_dead VALUES(3,'acme-dead-1','dead',1794992336316270,NULL,1,1,0,1794992333964477,'acme','shop.order.dead.v1','__GLOBAL__',NULL,'customer-7',1,1,X'215ddd5567ca2590efd4ea109b4e56cbe591e2676fbf54a9262692c539166da6','application/json',NULL,1794992333962846,NULL,NULL,NULL,NULL,NULL,'PROVIDER.REJECTED','http://127.0.0.1:18771/422: 422 from 127.0.0.1','[{"number":1,"at":1794992336316270,"code":"PROVIDER.REJECTED","error":"http://127.0.0.1:18771/422: 422 from 127.0.0.1"}]',X'7b226e223a337d');
INSERT INTO orders_dead VALUES(8,'acme-aside-1','quarantined',1794992337131818,'wrong currency',0,0,0,1794992334304498,'acme','shop.order.done.v1','__GLOBAL__',NULL,NULL,1,1,X'b300633032f2001b3ee950efc80290f4ad20b887fadc76c19af57774ad110354','application/json',NULL,1794992334302921,4070908800000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a387d');
INSERT INTO orders_dead VALUES(11,'other-dead-1','dead',1794992336320577,NULL,1,1,0,1794992334524754,'other','shop.order.dead.v1','__GLOBAL__',NULL,'customer-7',1,1,X'215ddd5567ca2590efd4ea109b4e56cbe591e2676fbf54a9262692c539166da6','application/json',NULL,1794992334523229,NULL,NULL,NULL,NULL,NULL,'PROVIDER.REJECTED','http://127.0.0.1:18771/422: 422 from 127.0.0.1','[{"number":1,"at":1794992336320577,"code":"PROVIDER.REJECTED","error":"http://127.0.0.1:18771/422: 422 from 127.0.0.1"}]',X'7b226e223a337d');
INSERT INTO orders_dead VALUES(12,'other-dead-2','quarantined',1794992337224947,'ask first',1,1,0,1794992334588126,'other','shop.order.dead.v1','__GLOBAL__',NULL,NULL,1,1,X'f3e0792e105e2bfe88e7b3bab5097b93a59a8c5b239fe3c6f87a8d0f72ab9032','application/json',NULL,1794992334586578,NULL,NULL,NULL,NULL,NULL,'PROVIDER.REJECTED','http://127.0.0.1:18771/422: 422 from 127.0.0.1','[{"number":1,"at":1794992335393147,"code":"PROVIDER.REJECTED","error":"http://127.0.0.1:18771/422: 422 from 127.0.0.1"}]',X'7b226e223a347d');
INSERT INTO orders_dead VALUES(16,'other-aside-1','quarantined',1794992337224720,'ask first',0,0,0,1794992334877862,'other','shop.order.done.v1','__GLOBAL__',NULL,NULL,1,1,X'b300633032f2001b3ee950efc80290f4ad20b887fadc76c19af57774ad110354','application/json',NULL,1794992334871955,4070908800000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a387d');
CREATE TABLE IF NOT EXISTS "orders_archive" (
  seq             INTEGER PRIMARY KEY,
  id              TEXT    NOT NULL,
  ended_at        INTEGER NOT NULL,
  attempts        INTEGER NOT NULL,
  failed_for_good INTEGER NOT NULL DEFAULT 0,
  replays         INTEGER NOT NULL,
  written_at      INTEGER NOT NULL,
  tenant          TEXT    NOT NULL,
  topic           TEXT    NOT NULL,
  aggregate_type  TEXT    NOT NULL,
  aggregate_id    TEXT,
  key             TEXT,
  priority        INTEGER NOT NULL,
  is_json         INTEGER NOT NULL,
  digest          BLOB,
  content_type    TEXT    NOT NULL,
  headers         TEXT,
  occurred_at     INTEGER NOT NULL,
  not_before      INTEGER,
  traceparent     TEXT,
  tracestate      TEXT,
  request_id      TEXT,
  correlation_id  TEXT,
  code            TEXT,
  error           TEXT,
  history         TEXT,
  payload         BLOB    NOT NULL
) STRICT;
INSERT INTO orders_archive VALUES(1,'acme-done-1',1794992335078293,1,0,0,1794992333847688,'acme','shop.order.done.v1','__GLOBAL__',NULL,'customer-7',1,1,X'642edff662e227ce064aefa90c4497be88811f4a5dfba34a60e01a20be7b9702','application/json',NULL,1794992333846157,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a312c226f66223a2261636d65227d');
INSERT INTO orders_archive VALUES(2,'acme-done-2',1794992335078293,1,0,0,1794992333904147,'acme','shop.order.done.v1','__GLOBAL__',NULL,NULL,1,1,X'363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8','application/json','{"x-a":"1"}',1794992333902499,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a327d');
INSERT INTO orders_archive VALUES(9,'other-done-1',1794992336316270,1,0,0,1794992334367608,'other','shop.order.done.v1','__GLOBAL__',NULL,'customer-7',1,1,X'3340f8476890b75e756fa6f64d91e75917ea4fc435802ee97f80a4940f2607a0','application/json',NULL,1794992334366025,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a312c226f66223a226f74686572227d');
INSERT INTO orders_archive VALUES(10,'other-done-2',1794992335078293,1,0,0,1794992334453400,'other','shop.order.done.v1','__GLOBAL__',NULL,NULL,1,1,X'363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8','application/json','{"x-a":"1"}',1794992334451844,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a327d');
INSERT INTO orders_archive VALUES(17,'plain-done-1',1794992336320577,1,0,0,1794992334961826,'default','shop.order.done.v1','__GLOBAL__',NULL,'customer-7',1,1,X'6caf899d67cf6d60680d8645cc09837f8d48c4d85ba0f8a4f112428fd03c358d','application/json',NULL,1794992334956137,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7b226e223a397d');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('sagabox_owner',3);
CREATE UNIQUE INDEX "orders_pending_id" ON "orders_pending" (id);
CREATE INDEX "orders_pending_due" ON "orders_pending" (due) WHERE due IS NOT NULL;
CREATE UNIQUE INDEX "orders_dead_id" ON "orders_dead" (id);
CREATE INDEX "orders_dead_tenant" ON "orders_dead" (tenant, state, ended_at);
CREATE INDEX "orders_dead_ended" ON "orders_dead" (state, ended_at);
CREATE UNIQUE INDEX "orders_archive_id" ON "orders_archive" (id);
CREATE VIEW "orders_outbox" AS
SELECT seq, id, tenant, topic, aggregate_type, aggregate_id, key, priority,
       CASE WHEN is_json THEN CAST(payload AS TEXT) ELSE payload END AS payload,
       is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate,
       request_id, correlation_id, due, attempts, replays, written_at, code, error
FROM "orders_pending";
CREATE TRIGGER "orders_outbox_insert" INSTEAD OF INSERT ON "orders_outbox"
WHEN NEW.id IS NULL
  OR (NOT EXISTS (SELECT 1 FROM "orders_pending" WHERE id = NEW.id)
      AND NOT EXISTS (SELECT 1 FROM "orders_dead" WHERE id = NEW.id)
      AND NOT EXISTS (SELECT 1 FROM "orders_archive" WHERE id = NEW.id))
BEGIN
  SELECT RAISE(ABORT, 'sagabox: topic and payload must be given')
  WHERE NEW.topic IS NULL OR NEW.payload IS NULL;
  SELECT RAISE(ABORT, 'sagabox: an id has 1 to 36 characters')
  WHERE length(NEW.id) NOT BETWEEN 1 AND 36;
  INSERT INTO "orders_pending" (
    place, id, due, written_at, tenant, topic, aggregate_type, aggregate_id, key, priority,
    is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, payload)
  SELECT (SELECT 1 + max(seq, coalesce((SELECT place FROM "orders_pending"
              WHERE place >= 105553116266496 ORDER BY place DESC LIMIT 1) - 105553116266496, 0)) FROM sagabox_outbox WHERE name = 'orders') +
         CASE WHEN NEW.not_before > now.at THEN 0
              WHEN nullif(NEW.key, '') IS NOT NULL OR coalesce(NEW.priority, 1) = 1
                THEN 105553116266496
              WHEN NEW.priority = 0 THEN 35184372088832
              ELSE 70368744177664 END,
         coalesce(NEW.id, lower(hex(randomblob(16)))),
         CASE WHEN NEW.not_before > now.at THEN NEW.not_before END,
         now.at,
         coalesce(NEW.tenant, 'default'),
         NEW.topic,
         coalesce(NEW.aggregate_type, '__GLOBAL__'),
         NEW.aggregate_id,
         nullif(NEW.key, ''),
         coalesce(NEW.priority, 1),
         coalesce(NEW.is_json, 1),
         coalesce(NEW.content_type, CASE WHEN coalesce(NEW.is_json, 1) THEN 'application/json'
                                         ELSE 'application/octet-stream' END),
         NEW.headers,
         coalesce(NEW.occurred_at, now.at),
         NEW.not_before,
         NEW.traceparent, NEW.tracestate, NEW.request_id, NEW.correlation_id,
         CAST(NEW.payload AS BLOB)
  FROM (SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) AS at) AS now;
  UPDATE sagabox_outbox
  SET seq = max(seq, last_insert_rowid() & 35184372088831),
      waiting = waiting + (last_insert_rowid() < 35184372088832)
  WHERE name = 'orders' AND changes() = 1 AND last_insert_rowid() < 105553116266496;
END;
COMMIT;
