// Reads a topic with the package `kafkajs`. Says on standard output what it found, one JSON object a
// message.
//
// usage: node kafka_reader.mjs BROKERS TOPIC COUNT
import kafkajs from "kafkajs";

const [brokers, topic, count] = process.argv.slice(2);
const client = new kafkajs.Kafka({
  clientId: "outside",
  brokers: brokers.split(","),
  logLevel: kafkajs.logLevel.NOTHING,
});
const consumer = client.consumer({ groupId: "outside" });
await consumer.connect();
await consumer.subscribe({ topic, fromBeginning: true });
let left = Number(count);
await consumer.run({
  eachMessage: async ({ message }) => {
    const headers = Object.fromEntries(
      Object.entries(message.headers).map(([name, value]) => [name, value.toString()]),
    );
    console.log(
      JSON.stringify({
        key: message.key.toString(),
        headers,
        payload: message.value.toString("base64"),
      }),
    );
    if (--left === 0) process.exit(0);
  },
});
process.stdin.resume().on("end", () => process.exit(0));
