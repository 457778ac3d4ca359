// Three companies that a saga calls: POST /flight/book, /flight/cancel, /hotel/book …
//
//   PORT=8711 BOOK=companies.jsonl NO_CAR=1 node companies.cjs
//
// A call may come twice, because its answer was lost; a cancellation may come before its booking, or
// instead of it. So every call is noted in a file before it is answered, by its Idempotency-Key, and
// the note says what was answered.
"use strict";
const fs = require("node:fs");
const { createServer } = require("node:http");

const bookPath = process.env.BOOK ?? "companies.jsonl";
const noCar = Boolean(process.env.NO_CAR);
// To see that it holds: of so many answers one is lost.
const lostAnswers = Number(process.env.LOST_ANSWERS ?? 0);

const notes = new Map(); // Idempotency-Key → answer
const executions = new Map(); // one execution of a step → whether it is booked or cancelled
const book = fs.openSync(bookPath, "a+");

function remember({ key, execution, state, answer }) {
  notes.set(key, answer);
  if (state) executions.set(execution, state);
}
for (const line of fs.readFileSync(bookPath, "utf8").split("\n")) {
  try {
    remember(JSON.parse(line));
  } catch {
    // The end of the file, or a line that a crash cut off: it was not answered.
  }
}

function decide(company, act, state) {
  if (act === "cancel") {
    return { state: "cancelled", answer: { status: 200, body: { cancelled: state === "booked" } } };
  }
  if (state === "cancelled") return { answer: { status: 410, body: { error: "it was cancelled before" } } };
  // 409, 429 and 503 would mean: try again. This means: never, and there is nothing to undo.
  if (company === "car" && noCar) return { answer: { status: 422, body: { error: "there is no car left" } } };
  return { state: "booked", answer: { status: 200, body: { ticket: `${company}-${executions.size + 1}` } } };
}

function handle(headers, company, act) {
  const key = headers["idempotency-key"];
  const known = notes.get(key);
  if (known) return { ...known, repeated: true };
  const execution = [headers["saga-id"], headers["saga-step"], headers["saga-round"]].join("/");
  const note = { key, execution, ...decide(company, act, executions.get(execution)) };
  fs.writeSync(book, `${JSON.stringify(note)}\n`);
  fs.fsyncSync(book);
  remember(note);
  return note.answer;
}

let answers = 0;
const server = createServer((request, response) => {
  const [, company, act] = request.url.split("/");
  request.resume().on("end", () => {
    if (!["flight", "hotel", "car"].includes(company) || !["book", "cancel"].includes(act)) {
      return response.writeHead(404).end();
    }
    const { status, body, repeated } = handle(request.headers, company, act);
    answers += 1;
    const lost = lostAnswers > 0 && answers % lostAnswers === 0;
    console.log(`${company} ${act}: ${status}${repeated ? ", as before" : ""}${lost ? ", lost" : ""}`);
    if (lost) return request.socket.destroy();
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
});
server.listen(Number(process.env.PORT ?? 8711), "127.0.0.1", () => {
  console.log(`the companies listen on http://127.0.0.1:${server.address().port}`);
});
