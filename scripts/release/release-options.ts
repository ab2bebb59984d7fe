import path from "node:path";
import { parseArgs } from "node:util";

export const releaseParts = ["packages", "charts", "docs", "examples", "images"] as const;
export type ReleasePart = (typeof releaseParts)[number];

export interface ReleaseOptions {
  readonly parts: readonly ReleasePart[];
  readonly directory: string;
  readonly allowDirty: boolean;
  /** The tag of a release that is not only rehearsed: it must name the version, and the changelog the day. */
  readonly tag: string | undefined;
}

export const releaseUsage = `npm run release -- --dry-run [OPTION…]
  --only PARTS     of ${releaseParts.join(",")}; images take minutes
  --out DIRECTORY  default: release
  --allow-dirty    take the tree with changes; images are of the last commit
  --tag TAG        refuse unless it names the version, and the changelog the day`;

/** @throws Error with a sentence for what can't be done */
export function releaseOptions(argv: readonly string[]): ReleaseOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      "dry-run": { type: "boolean", default: false },
      "allow-dirty": { type: "boolean", default: false },
      only: { type: "string", default: releaseParts.join(",") },
      out: { type: "string", default: "release" },
      tag: { type: "string" },
    },
  });
  if (!values["dry-run"])
    throw new Error(
      "publishing is the work of .github/workflows/release.yaml, for a tag such as v0.1.0; `npm run release -- --dry-run` makes all that it would publish",
    );
  const parts = values.only.split(",");
  const unknown = parts.find((part) => !(releaseParts as readonly string[]).includes(part));
  if (unknown !== undefined)
    throw new Error(`--only names ${JSON.stringify(unknown)}, which is none of ${releaseParts.join(", ")}`);
  return {
    parts: releaseParts.filter((part) => parts.includes(part)),
    directory: path.resolve(values.out),
    allowDirty: values["allow-dirty"],
    tag: values.tag,
  };
}
