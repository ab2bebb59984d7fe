/** Reads the YAML file given as its argument, as the agent does, and prints the length of its JSON or why it is refused. */
import { readFileSync } from "node:fs";
import { jsonOfYaml, YamlDocumentError } from "./yaml-document.js";

const maxJsonBytes = 4_000_000;

const outcome = await jsonOfYaml(readFileSync(process.argv[2] ?? ""), maxJsonBytes).then(
  (json) => `${json.length} bytes`,
  (error: unknown) => {
    if (error instanceof YamlDocumentError) return `${error.code}: ${error.message}`;
    throw error;
  },
);
process.stdout.write(outcome);
