import { pathToFileURL } from "node:url"; import { readFileSync } from "node:fs";
const [,, where, place, topic, group] = process.argv;
const root = where + "/node_modules/@platformatic/kafka/"; const main = JSON.parse(readFileSync(root + "package.json")); 
const m = await import(pathToFileURL(root + (main.exports?.["."]?.default ?? main.exports?.default ?? (typeof main.exports === "string" ? main.exports : main.main ?? "dist/index.js"))));
const p = new m.Producer({ clientId: "shop", bootstrapBrokers: place.split(","), serializers: m.stringSerializers });
await p.send({ messages: Array.from({ length: 20 }, () => ({ topic, value: "x" })) }); await p.close();
const c = new m.Consumer({ clientId: "shop", groupId: group, bootstrapBrokers: place.split(","), deserializers: m.stringDeserializers });
const s = await c.consume({ topics: [topic], mode: "earliest", autocommit: true });
let n = 0; setTimeout(() => process.exit(), 15000); for await (const _ of s) { if (++n >= 20) break; }
await new Promise(r => setTimeout(r, 300)); console.log(n); process.exit();
