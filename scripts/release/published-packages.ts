/** A package of the workspace that is published. All others are private: their code is in the bundles of those that are not. */
export interface PublishedPackage {
  /** Below packages/. */
  readonly folder: string;
  /** Its name in the registry. A program is called as what one types. */
  readonly name: string;
  /** Folders and files that are published as the build leaves them; a library is bundled instead (bundle-library.ts). */
  readonly built?: readonly string[];
}

/** Without what starts it in an image only, where a cache of its code lies beside it. */
const agentFiles = ["cjs", "health.cjs", "licenses.txt", "cdx.json"].map(
  (end) => `dist/bunting-agent.${end}`,
);

/** In the order in which they are published: what others depend on comes first. */
export const publishedPackages: readonly PublishedPackage[] = [
  { folder: "protocol", name: "@bunting/protocol" },
  { folder: "evaluation", name: "@bunting/evaluation" },
  { folder: "extension", name: "@bunting/extension" },
  { folder: "featureflags", name: "@bunting/featureflags" },
  { folder: "cli", name: "bunting", built: ["bin", "dist/bundle"] },
  { folder: "agent", name: "bunting-agent", built: ["bin", ...agentFiles, "dist/chunks"] },
];
