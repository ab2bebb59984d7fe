import { accessSync, constants } from "node:fs";
import path from "node:path";

/**
 * What a machine may lack, by the names that BUNTING_REQUIRE takes, each with the remedy. Without one of them tests are skipped; with its name in
 * BUNTING_REQUIRE they fail, so that a gate which is to run everything can't pass by skipping.
 */
const remedies = {
  go: "install Go 1.26 or newer, and have it on PATH",
  redis: "install redis-server (Debian's package of that name)",
  chromium: "install chromium (Debian's package of that name)",
  node20: "have a node 20 on PATH, or npm's registry within reach",
  node24: "have a node 24 on PATH, or npm's registry within reach",
  root: "run as root",
  docker: "run as root, with Debian's package docker.io",
  images: "run on Linux as root, with Debian's packages buildah, mmdebstrap, runc and skopeo",
  "real-node": "see 'npm run test:node' in CONTRIBUTING.md",
  previous: "fetch the history that a shallow clone lacks ('git fetch --unshallow --tags')",
  promtool: "install promtool (Debian's package prometheus), or have Debian's archive within reach",
} as const;

export type Part = keyof typeof remedies;

const variable = "BUNTING_REQUIRE";

/** The parts that this run must not do without.
 *
 * @throws Error for a name that is none of them.
 */
export function requiredParts(environment: NodeJS.ProcessEnv = process.env): ReadonlySet<Part> {
  const names = (environment[variable] ?? "").split(",").map((name) => name.trim());
  const required = new Set<Part>();
  for (const name of names.filter(Boolean)) {
    if (!isPart(name))
      throw new Error(`${variable} names "${name}", which is none of ${Object.keys(remedies).join(", ")}`);
    required.add(name);
  }
  return required;
}

/** A sentence that says what is missing, that it is required, and what to do; undefined if it may be missing. */
export function refusalOf(part: Part, reason: string, environment?: NodeJS.ProcessEnv): string | undefined {
  if (!requiredParts(environment).has(part)) return undefined;
  return `${part} is missing, which ${variable} requires: ${reason.replace(/\.$/, "")}. Remedy: ${remedies[part]}, or leave ${part} out of ${variable}.`;
}

/** For each required part that tests themselves look for, and skip without a word to their runner: a sentence if it is missing. */
export function missingForTests(
  environment: NodeJS.ProcessEnv = process.env,
  isRoot = process.getuid?.() === 0,
): string[] {
  const absent: readonly (readonly [Part, boolean, string])[] = [
    ["redis", !isOnPath("redis-server", environment), "there is no redis-server on PATH"],
    ["chromium", !isOnPath("chromium", environment), "there is no chromium on PATH"],
    ["root", !isRoot, "this is another user"],
  ];
  const required = requiredParts(environment);
  return absent.flatMap(([part, isMissing, reason]) =>
    isMissing && required.has(part) ? (refusalOf(part, reason, environment) ?? []) : [],
  );
}

/** Prints the sentences for required parts, or what is wrong with their names, and ends this process with 1 if there are any. */
export function exitIfMissing(find: () => readonly (string | undefined)[]): void {
  let missing: readonly (string | undefined)[];
  try {
    missing = find();
  } catch (error) {
    missing = [(error as Error).message];
  }
  const sentences = missing.filter((sentence) => sentence !== undefined);
  for (const sentence of sentences) console.error(`bunting: ${sentence}`);
  if (sentences.length > 0) process.exit(1);
}

function isPart(name: string): name is Part {
  return Object.hasOwn(remedies, name);
}

function isOnPath(program: string, environment: NodeJS.ProcessEnv): boolean {
  return (environment["PATH"] ?? "").split(path.delimiter).some((folder) => {
    try {
      accessSync(path.join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
