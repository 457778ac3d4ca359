// A shop: notes orders in its book, and publishes an event for each.
//
//   SAGABOX_SERVER=http://127.0.0.1:8700 BOOK=shop.jsonl node shop.cjs FIRST LAST
//
// It cannot know whether an event whose answer was lost is there, so it says it again: the same
// external_id is the same event. To see that, it says everything twice.
"use strict";
const fs = require("node:fs");

const server = process.env.SAGABOX_SERVER ?? "http://127.0.0.1:8700";
const bookPath = process.env.BOOK ?? "shop.jsonl";
const [first, last] = process.argv.slice(2).map(Number);

async function publish(order) {
  const response = await fetch(`${server}/v1/events`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      type: "shop.order.placed.v1",
      source: "shop",
      external_id: `order-${order.order}`,
      payload: order,
    }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`order ${order.order} was not published: ${answer.detail}`);
  return answer; // { id, duplicate }
}

async function main() {
  const answers = [];
  for (let number = first; number <= last; ++number) {
    const order = { order: number, cents: number % 3 === 0 ? 0 : number * 1000 }; // every third one is a gift
    fs.appendFileSync(bookPath, `${JSON.stringify(order)}\n`);
    answers.push(await publish(order), await publish(order));
  }
  const duplicates = answers.filter(({ duplicate }) => duplicate).length;
  console.log(
    `published  orders ${first} to ${last}, each said twice: ` +
      `${answers.length - duplicates} events, ${duplicates} known already`,
  );
}
main().catch((error) => {
  console.error(`shop: ${error.message}`);
  process.exitCode = 1;
});
