import { pathToFileURL } from "node:url";
const [,, where, place, topic, group] = process.argv;
const kafkajs = (await import(pathToFileURL(where + "/node_modules/kafkajs/index.js"))).default;
const k = new kafkajs.Kafka({ brokers: place.split(","), logLevel: 0 });
const p = k.producer(); await p.connect(); await p.send({ topic, messages: Array(20).fill({ value: "x" }) }); await p.disconnect();
const c = k.consumer({ groupId: group }); await c.connect(); await c.subscribe({ topic, fromBeginning: true });
let n = 0; await c.run({ eachMessage: async () => { n++; } });
const end = Date.now() + 15000; while (n < 20 && Date.now() < end) await new Promise(r => setTimeout(r, 100));
await c.disconnect(); console.log(n);
