import { readFileSync } from "node:fs";
import { qualityOfService, serveExtension } from "@bunting/extension";

// Requests and limits by the end of the namespace's name: money-dev, money-pre, money-pro.
const file = process.env.LEVELS ?? new URL("levels.json", import.meta.url);
const levels = JSON.parse(readFileSync(file, "utf8"));
const { url } = await serveExtension({ preCreate: qualityOfService(levels) });
console.log(`qos: ${Object.keys(levels).join(", ")} at ${url}`);
