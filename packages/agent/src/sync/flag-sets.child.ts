/** Merges two documents of the shape given as its argument, as the agent does, and prints the length of the result or that it is too large. */
import { HeapRoom, systemClock } from "@bunting/runtime";
import { FlagSetsTooLargeError, replaceFlagSets } from "./flag-sets.js";

const maxBytes = 4_000_000;

const flags = (count: number, flag: string): string =>
  Array.from({ length: count }, (_, index) => `"${index}":${flag}`).join(",");
const rule = `[${"1,".repeat(150_000)}1]`;
const shapes: Readonly<Record<string, string>> = {
  lists: `"flags":{"f":{"variants":{"v":[${"[],".repeat(1_000_000)}0]}}}`,
  flags: `"flags":{${flags(300_000, "{}")}}`,
  metadata: `"note":0,"flags":{${flags(1_000, "{}")}}`,
  references: `"$evaluators":{"r":${rule}},"flags":{${flags(100, '{"targeting":{"$ref":"r"}}')}}`,
};

function document(flagSetId: string): Buffer {
  const shape = process.argv[2] ?? "";
  const note = shape === "metadata" ? "x".repeat(1_000_000) : "";
  return Buffer.from(`{"metadata":{"flagSetId":"${flagSetId}","note":"${note}"},${shapes[shape] ?? ""}}`);
}

try {
  const room = new HeapRoom(systemClock);
  const first = replaceFlagSets(undefined, document("a"), { maxBytes, room });
  process.stdout.write(`${replaceFlagSets(first, document("b"), { maxBytes, room }).length} bytes`);
} catch (error) {
  if (!(error instanceof FlagSetsTooLargeError)) throw error;
  process.stdout.write("too large");
}
