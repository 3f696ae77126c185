// A kafkajs client that plays the steps of a session file and writes one JSON line a step.
import { appendFileSync, createReadStream, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import kafkajs from "kafkajs";

const { Kafka, CompressionTypes, logLevel } = kafkajs;
const codecs = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP };
const acks = { all: -1, 0: 0, 1: 1 };
const mechanisms = { PLAIN: "plain", "SCRAM-SHA-256": "scram-sha-256", "SCRAM-SHA-512": "scram-sha-512" };

let work;

const file = (name) => (name ? readFileSync(name) : undefined);

function client() {
  const properties = work.properties;
  const mechanism = properties["sasl.mechanism"];
  return new Kafka({
    clientId: properties["client.id"] ?? "kafkajs",
    brokers: work.bootstrap.split(","),
    logLevel: logLevel.NOTHING,
    requestTimeout: Number(properties["request.timeout.ms"] ?? 30000),
    ssl: properties["ssl.ca.location"] && {
      ca: readFileSync(properties["ssl.ca.location"]),
      cert: file(properties["ssl.certificate.location"]),
      key: file(properties["ssl.key.location"]),
    },
    sasl: mechanism && {
      mechanism: mechanisms[mechanism],
      username: properties["sasl.username"],
      password: properties["sasl.password"],
    },
  });
}

function values({ count = 10, size = 0, first = 0, headers = {} }) {
  return Array.from({ length: count }, (_, index) => {
    const order = first + index;
    const note = "x".repeat(Math.max(0, size - 50));
    return { key: `customer-${order % 17}`, value: JSON.stringify({ order, amount: ((order * 7919) % 100000) / 100, note }), headers };
  });
}

async function create({ topics }) {
  const admin = client().admin();
  await admin.connect();
  const wanted = Object.entries(topics).map(([topic, numPartitions]) => ({ topic, numPartitions }));
  const made = await admin.createTopics({ topics: wanted });
  await admin.disconnect();
  return made;
}

async function produce({ topic, config = {}, batches = 1, ...rest }) {
  const producer = client().producer({ idempotent: config["enable.idempotence"] === "true" });
  await producer.connect();
  const messages = values(rest);
  const size = Math.max(1, Math.floor(messages.length / batches));
  for (let at = 0; at < messages.length; at += size) {
    await producer.send({
      topic,
      messages: messages.slice(at, at + size),
      acks: acks[config.acks ?? "all"],
      compression: codecs[config["compression.type"] ?? "none"],
    });
  }
  await producer.disconnect();
  return messages.length;
}

const encoded = (data) => (data === null || data === undefined ? null : Buffer.from(data).toString("base64"));

async function consume({ topics, group, count = 10, polls = 60, keep = true, config = {} }) {
  const consumer = client().consumer({
    groupId: group ?? "nobody",
    sessionTimeout: Number(config["session.timeout.ms"] ?? 10000),
    heartbeatInterval: Number(config["heartbeat.interval.ms"] ?? 3000),
    maxWaitTimeInMs: Number(config["fetch.max.wait.ms"] ?? 5000),
  });
  await consumer.connect();
  await consumer.subscribe({ topics, fromBeginning: true });
  const found = [];
  const different = new Set();
  await consumer.run({
    eachMessage: async ({ topic, partition, message }) => {
      different.add(`${topic} ${partition} ${message.offset}`);
      found.push({
        topic,
        partition,
        offset: Number(message.offset),
        timestamp: Number(message.timestamp),
        key: encoded(message.key),
        value: encoded(message.value),
        headers: Object.entries(message.headers ?? {}).map(([name, data]) => [name, encoded(data)]),
      });
    },
  });
  for (let poll = 0; poll < polls && different.size < count; poll++) await sleep(500);
  await consumer.disconnect();
  return keep ? found : found.length;
}

async function transact({ topic, id, ends = ["commit"], count = 5, tell = false }) {
  const producer = client().producer({ transactionalId: id, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const outcomes = [];
  for (const [number, end] of ends.entries()) {
    let transaction;
    try {
      transaction = await producer.transaction();
      await transaction.send({ topic, messages: values({ count, first: number * count }) });
      await (end === "commit" ? transaction.commit() : transaction.abort());
      outcomes.push(end);
    } catch (error) {
      if (!tell) throw error;
      try {
        if (!transaction) throw error;
        if (transaction.isActive()) await transaction.abort();
        outcomes.push(`failed: ${error.message}`);
      } catch {
        outcomes.push(`lost: ${error.message}`);
        break;
      }
    }
  }
  await producer.disconnect();
  return tell ? outcomes : ends.length;
}

const functions = { create, produce, consume, transact, sleep: ({ seconds }) => sleep(seconds * 1000) };

// One session a line, from a file or from a pipe into which they are written one by one.
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  work = JSON.parse(line);
  for (const [name, parameters] of work.steps) {
    const result = await functions[name](parameters);
    appendFileSync(process.argv[3], JSON.stringify({ step: name, result: result ?? null }) + "\n");
  }
}
process.exit(0);
