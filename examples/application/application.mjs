// Asks for a flag every second, by OFREP, and says so when the answer has changed. Any OpenFeature SDK does the same: see docs/start/sdk.md.
import { setTimeout } from "node:timers/promises";

const flags = process.env.FLAGS ?? "http://localhost:8016";
let last;
for (;;) {
  const answer = await fetch(`${flags}/ofrep/v1/evaluate/flags/new-welcome`, { method: "POST" });
  const { value } = await answer.json();
  if (value !== last) console.log(`new-welcome = ${value}`);
  last = value;
  await setTimeout(1000);
}
