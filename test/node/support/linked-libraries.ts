import { execFileSync } from "node:child_process";
import type { LayerFiles } from "./oci-writer.js";

/** What a program of this machine is linked to, at the paths at which it looks for it. */
export function linkedLibraries(program: string): LayerFiles {
  const linked = execFileSync("ldd", [program], { encoding: "utf8" });
  const absent = /(\S+) => not found/.exec(linked)?.[1];
  if (absent !== undefined) throw new Error(`${program} takes ${absent}, which this machine lacks`);
  const files = [...linked.matchAll(/(\/\S+) \(0x/g)].map(([, file = ""]) => file);
  return Object.fromEntries(files.map((file) => [file, file]));
}
