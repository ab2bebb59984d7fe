import { readFileSync } from "node:fs";
import { annotater, serveExtension } from "@bunting/extension";

// Default annotations and labels, by the rules of a file: a list of AnnotaterRule.
const file = process.env.RULES ?? new URL("rules.json", import.meta.url);
const rules = JSON.parse(readFileSync(file, "utf8"));
const { url } = await serveExtension({ preCreate: annotater(rules) });
console.log(`annotater: ${rules.length} rules at ${url}`);
