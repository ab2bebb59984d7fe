import { readFileSync } from "node:fs";
import path from "node:path";

/** Where an export of a package is, by condition. */
export type ExportConditions = Readonly<Record<string, string>>;

/** What a release reads of the package.json of a package of the workspace; it is published with all other fields, too. */
export interface SourceManifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, ExportConditions>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const packages = path.resolve(import.meta.dirname, "../../packages");

export function packageFolder(folder: string): string {
  return path.join(packages, folder);
}

export function readSourceManifest(folder: string): SourceManifest {
  return JSON.parse(readFileSync(path.join(packages, folder, "package.json"), "utf8")) as SourceManifest;
}
