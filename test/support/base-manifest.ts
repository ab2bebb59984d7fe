import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";

const base = path.join(import.meta.dirname, "../../deploy/kustomize/base");

/** The object in a file of deploy/kustomize/base that has one; what the Helm chart renders is compared with the same by its tests. */
export function baseManifest(file: string): { readonly spec: Readonly<Record<string, unknown>> } {
  return parse(readFileSync(path.join(base, file), "utf8")) as ReturnType<typeof baseManifest>;
}
