import { readFileSync } from "node:fs";

/** The version in this package's package.json, which stands one folder above both src and dist. */
export const version = readVersion();

function readVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return manifest.version;
}
