// Reads a JetStream stream with the package `nats`. Says on standard output what it found, one JSON
// object a message.
//
// usage: node nats_reader.mjs URL STREAM COUNT
import { connect } from "nats";

const [url, stream, count] = process.argv.slice(2);
const connection = await connect({ servers: url });
const streams = (await connection.jetstreamManager()).streams;
for (let sequence = 1; sequence <= Number(count); ++sequence) {
  const message = await streams.getMessage(stream, { seq: sequence });
  const headers = Object.fromEntries(
    message.header.keys().map((name) => [name, message.header.get(name)]),
  );
  console.log(
    JSON.stringify({
      subject: message.subject,
      headers,
      payload: Buffer.from(message.data).toString("base64"),
    }),
  );
}
await connection.close();
