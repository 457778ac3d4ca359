// Keeps accounts. Messages come as webhooks, some of them more than once; each changes a balance
// once, because its key and the change are one transaction:
//
//   SELECT sagabox.first_time(tenant, 'accounts', 'tenant:id')
//
// Beforehand: `sagabox migrate up --engine inbox --store $DATABASE_URL` makes that function and its
// table, and nothing else. Then: npm install && DATABASE_URL=postgres://… npm start
"use strict";
const { createServer } = require("node:http");
const { Pool } = require("pg");

const schema = process.env.SAGABOX_SCHEMA ?? "sagabox";
const pool = new Pool({ connectionString: process.env.DATABASE_URL });
// To see that it holds: of so many answers one is lost, after the commit.
const lostAnswers = Number(process.env.LOST_ANSWERS ?? 0);
let answers = 0;

// Ids are unique for a tenant. A message that an operator replayed as new counts anew.
function keyOf(headers) {
  const parts = [headers["ce-tenant"] ?? "default", headers["ce-id"]];
  if (headers["sagabox-as-new"]) parts.push(headers["sagabox-as-new"]);
  return parts.join(":");
}

async function handle(tenant, key, { account, cents }) {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query(`SELECT "${schema}".first_time($1, 'accounts', $2) AS first`, [tenant, key]);
    if (rows[0].first) {
      await client.query("UPDATE accounts SET cents = cents + $2 WHERE account = $1", [account, cents]);
    }
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", async () => {
    try {
      const tenant = request.headers["ce-tenant"] ?? "default";
      await handle(tenant, keyOf(request.headers), JSON.parse(Buffer.concat(parts).toString()));
      answers += 1;
      if (lostAnswers > 0 && answers % lostAnswers === 0) return request.socket.destroy();
      response.writeHead(204).end();
    } catch (error) {
      console.error(error.message);
      response.writeHead(500).end(); // it comes again
    }
  });
});

async function main() {
  await pool.query("CREATE TABLE IF NOT EXISTS accounts (account text PRIMARY KEY, cents bigint NOT NULL DEFAULT 0)");
  server.listen(Number(process.env.PORT ?? 8081), "127.0.0.1", () => {
    console.log(`{"port": ${server.address().port}}`);
  });
}
main();
