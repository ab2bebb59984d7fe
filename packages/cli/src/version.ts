import { readFileSync } from "node:fs";

/** The version in this package's package.json. The bundle has it built in. */
export const version = process.env["BUNTING_BUILD"] ?? readVersion();

function readVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return manifest.version;
}
