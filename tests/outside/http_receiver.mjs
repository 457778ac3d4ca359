// Receives requests as somebody else's software would: Node's server, the packages `cloudevents` and
// `standardwebhooks`. Says on standard output what it understood, one JSON object a request.
//
// usage: node http_receiver.mjs WHSEC ED25519_SEED_BASE64
import { createPrivateKey, createPublicKey, verify } from "node:crypto";
import { createServer } from "node:http";
import { HTTP } from "cloudevents";
import { Webhook } from "standardwebhooks";

const [symmetric, seed] = process.argv.slice(2);
// An ed25519 seed as PKCS #8, which is how Node takes it.
const pkcs8 = Buffer.concat([
  Buffer.from("302e020100300506032b657004220420", "hex"),
  Buffer.from(seed, "base64"),
]);
const publicKey = createPublicKey(createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" }));

function attempt(what) {
  try {
    return what() ?? true;
  } catch (error) {
    return `failed: ${error.message}`;
  }
}

// `standardwebhooks` knows symmetric keys only; this is what its specification says about v1a.
function verifiedAsymmetric(headers, body) {
  const content = Buffer.concat([
    Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`),
    body,
  ]);
  return (headers["webhook-signature"] ?? "")
    .split(" ")
    .map((versioned) => versioned.split(","))
    .some(
      ([version, signature]) =>
        version === "v1a" &&
        verify(null, content, publicKey, Buffer.from(signature, "base64")),
    );
}

function understood(headers, body) {
  return {
    symmetric: attempt(() => {
      new Webhook(symmetric).verify(body, headers, { jsonParse: false });
    }),
    asymmetric: verifiedAsymmetric(headers, body),
    event: attempt(() => HTTP.toEvent({ headers, body: body.toString() })),
  };
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    console.log(JSON.stringify(understood(request.headers, Buffer.concat(chunks))));
    response.writeHead(204).end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: server.address().port })));
process.stdin.resume().on("end", () => process.exit(0));
