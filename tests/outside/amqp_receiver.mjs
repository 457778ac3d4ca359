// Takes messages from a queue with the package `amqplib`. Says on standard output what it got, one
// JSON object a message; the first line says that it is ready. Ends with its standard input.
//
// usage: node amqp_receiver.mjs PORT QUEUE
import amqplib from "amqplib";

const [port, queue] = process.argv.slice(2);
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

const connection = await amqplib.connect(`amqp://guest:guest@127.0.0.1:${port}`);
const channel = await connection.createChannel();
await channel.assertQueue(queue, { durable: true });
await channel.consume(queue, (message) => {
  if (message === null) return;
  say({ payload: message.content.toString("base64"), properties: message.properties });
  channel.ack(message);
});
say({ ready: true });

process.stdin.on("end", () => process.exit(0)).resume();
