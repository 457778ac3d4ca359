// An endpoint for webhooks: it checks who sent them, and notes every order once in its book.
//
//   NAME=billing PORT=8712 SECRET_FILE=billing.secret BOOK=billing.jsonl node receiver.cjs
//
// A webhook may come again, because its answer was lost or an operator requeued it: its webhook-id is
// the same then. So it is noted in a file before it is answered, and what is in the book is not noted
// again. SECRET_FILE has what `sagabox subscription add` said.
//
// To see what the hub does about failures: the first FAILURES webhooks are noted and answered 500, and
// all of them are answered 500 and not noted while there is a file $NAME.down.
"use strict";
const fs = require("node:fs");
const { createServer } = require("node:http");
const { Webhook } = require("standardwebhooks");

const name = process.env.NAME ?? "receiver";
const bookPath = process.env.BOOK ?? `${name}.jsonl`;
const secretPath = process.env.SECRET_FILE ?? `${name}.secret`;
let failures = Number(process.env.FAILURES ?? 0);

const known = new Set();
const book = fs.openSync(bookPath, "a+");
for (const line of fs.readFileSync(bookPath, "utf8").split("\n")) {
  try {
    known.add(JSON.parse(line).event);
  } catch {
    // The end of the file, or a line that a crash cut off: it was not answered.
  }
}

function note(event, order) {
  if (known.has(event)) return false;
  fs.writeSync(book, `${JSON.stringify({ event, ...order })}\n`);
  fs.fsyncSync(book);
  known.add(event);
  return true;
}

function handle(headers, body) {
  let content;
  try {
    const secret = fs.readFileSync(secretPath, "utf8").trim();
    content = new Webhook(secret).verify(body, headers); // body: the bytes as they came
  } catch (error) {
    return { status: 401, body: { error: error.message } };
  }
  const type = headers["ce-type"];
  if (type === "hub.subscription.verification.v1") {
    return { status: 200, body: { challenge: content.challenge } };
  }
  if (type !== "shop.order.placed.v1") return { status: 204 };
  if (fs.existsSync(`${name}.down`)) return { status: 500, body: { error: "no room in the book" } };
  const first = note(headers["webhook-id"], content);
  const repeated = first ? "" : ", as before";
  if (failures > 0) {
    failures -= 1;
    return { status: 500, body: { error: "noted, and then it broke" }, repeated };
  }
  return { status: 204, repeated };
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { headers } = request;
    const { status, body, repeated } = handle(headers, Buffer.concat(chunks));
    console.log(`${headers["ce-type"]} attempt ${headers["hub-attempt"] ?? "-"}: ${status}${repeated ?? ""}`);
    response.writeHead(status, body && { "content-type": "application/json" });
    response.end(body && JSON.stringify(body));
  });
});
server.listen(Number(process.env.PORT ?? 8712), "127.0.0.1", () => {
  console.log(`${name} listens on http://127.0.0.1:${server.address().port}`);
});
