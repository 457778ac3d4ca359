// Lints an OpenAPI document, and holds answers against what it promises.
//
// usage: openapi_check.mjs DOCUMENT [ANSWERS]
//
// ANSWERS has a line an answer: {"operation", "status", "type", "body"}. Prints a line a problem,
// then "checked N answers".

import { createConfig, lint } from "@redocly/openapi-core";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { readFileSync } from "node:fs";

const [document, answers] = process.argv.slice(2);

async function linted() {
  const config = await createConfig({ extends: ["recommended-strict"] });
  for (const problem of await lint({ ref: document, config })) {
    const where = problem.location.map((place) => place.pointer).join(" ");
    console.log(`${problem.ruleId}: ${problem.message} (${where})`);
  }
}

function resolved(api, part) {
  if (!part?.$ref) return part;
  return part.$ref.slice(2).split("/").reduce((value, name) => value[name], api);
}

function checked() {
  const api = JSON.parse(readFileSync(document, "utf8"));
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema(api, "api");
  const operations = new Map();
  for (const methods of Object.values(api.paths)) {
    for (const operation of Object.values(methods)) operations.set(operation.operationId, operation);
  }
  const lines = readFileSync(answers, "utf8").split("\n").filter((line) => line !== "");
  const seen = new Set();
  for (const line of lines) {
    const answer = JSON.parse(line);
    const said = `${answer.operation} ${answer.status}`;
    seen.add(answer.operation);
    const response = resolved(api, operations.get(answer.operation)?.responses[answer.status]);
    if (!response) {
      console.log(`${said}: not in the document`);
      continue;
    }
    const content = response.content?.[answer.type.split(";")[0]];
    if (!content) {
      console.log(`${said}: ${answer.type} is not in the document`);
    } else if (content.schema.$ref) {
      const valid = ajv.getSchema("api" + content.schema.$ref);
      if (!valid(JSON.parse(answer.body))) {
        console.log(`${said}: ${ajv.errorsText(valid.errors)}: ${answer.body}`);
      }
    }
  }
  for (const operation of operations.keys()) {
    if (!seen.has(operation)) console.log(`${operation}: no answer was given`);
  }
  console.log(`checked ${lines.length} answers`);
}

await linted();
if (answers) checked();
else console.log("checked 0 answers");
