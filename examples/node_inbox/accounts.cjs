// Keeps accounts. Messages come as webhooks, some of them more than once; each changes a balance
// once, because its id and the change are one transaction:
//
//   SELECT sagabox.first_time('default', 'accounts', id)
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

async function handle(id, { account, cents }) {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query(`SELECT "${schema}".first_time('default', 'accounts', $1) AS first`, [id]);
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
      await handle(request.headers["ce-id"], JSON.parse(Buffer.concat(parts).toString()));
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
