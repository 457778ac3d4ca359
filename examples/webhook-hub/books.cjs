// Do the books of the receivers agree with that of the shop? Exit code 0: they do.
//
//   node books.cjs shop.jsonl warehouse.jsonl billing.jsonl
"use strict";
const fs = require("node:fs");

const [shop, warehouse, billing] = process.argv.slice(2).map((path) =>
  fs.readFileSync(path, "utf8").trim().split("\n").filter(Boolean).map((line) => JSON.parse(line)),
);
// Each order once, whatever came first.
const orders = (book) => book.map(({ order, cents }) => `${order}: ${cents}`).sort().join();
const cents = (book) => book.reduce((sum, order) => sum + order.cents, 0);

const text = (book) => `${book.length} orders, ${(cents(book) / 100).toFixed(2)}`;
console.log(`books      shop ${text(shop)}; warehouse ${text(warehouse)}; billing ${text(billing)}`);
const agree =
  orders(warehouse) === orders(shop) && orders(billing) === orders(shop.filter((order) => order.cents > 0));
console.log(agree ? "           they agree" : "           THEY DO NOT AGREE");
process.exitCode = agree ? 0 : 1;
