import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** A place that names the version of a release. */
export interface StatedVersion {
  /** Relative to the checkout. */
  readonly file: string;
  readonly version: string;
}

/** Files that name it, and how. Each must name it at least once. */
const places: readonly (readonly [files: string, pattern: RegExp])[] = [
  ["package.json", /^ {2}"version": "(.*)",$/gm],
  ["packages/*/package.json", /^ {2}"version": "(.*)",$/gm],
  ["deploy/helm/*/Chart.yaml", /^(?:version: |appVersion: | +image: ghcr\.io\/[^:]+:)(.*)$/gm],
  ["deploy/helm/values-openfeature-operator.yaml", /^ *tag: "(.*)"$/gm],
  ["deploy/kustomize/base/deployment.yaml", /image: ghcr\.io\/[^:]+:(.*)$/gm],
  ["deploy/kustomize/operator/deployment.yaml", /image: ghcr\.io\/[^:]+:(.*)$/gm],
  ["examples/extensions/Dockerfile", /@bunting\/extension@(\S+)$/gm],
  ["examples/extensions/template/package.json", /"@bunting\/extension": "\^(.*)"$/gm],
  ["deploy/docker/*.Dockerfile", /^ARG VERSION=(\S+)/gm],
  // The newest section is the first.
  ["CHANGELOG.md", /(?<![^]*^## )^## (\S+)/gm],
];

/**
 * The version of a checkout, if all files that name it agree.
 *
 * @throws Error with a sentence that names those that do not
 */
export function agreedVersion(root: string): string {
  const stated = statedVersions(root);
  const version = stated[0]?.version ?? "";
  const others = stated.filter((each) => each.version !== version);
  if (others.length === 0) return version;
  const list = others.map((each) => `${each.file} says ${each.version}`).join(", ");
  throw new Error(
    `package.json says version ${version}, but ${list}: write the same version into all of them`,
  );
}

/** That of package.json comes first. */
export function statedVersions(root: string): readonly StatedVersion[] {
  return places.flatMap(([pattern, naming]) =>
    filesOf(root, pattern).flatMap((file) => {
      const found = [...readFileSync(path.join(root, file), "utf8").matchAll(naming)];
      if (found.length === 0)
        throw new Error(`${file} names no version where one is expected (${naming.source})`);
      return found.map(([, version = ""]) => ({ file, version }));
    }),
  );
}

/** A `*` stands for a part of one name. */
function filesOf(root: string, pattern: string): string[] {
  const [before, after] = pattern.split("*");
  if (before === undefined || after === undefined) return [pattern];
  return readdirSync(path.join(root, before))
    .map((name) => (after.startsWith("/") ? `${before}${name}${after}` : `${before}${name}`))
    .filter((file) => file.endsWith(after) && existsSync(path.join(root, file)))
    .sort();
}
