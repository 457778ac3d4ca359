// The example examples/node_inbox, until standard input ends.
"use strict";
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
require("../../examples/node_inbox/accounts.cjs");
