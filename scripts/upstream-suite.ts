/** What the suite of the open-feature-operator takes: its files, chainsaw, and the programs that its Pods run. None of it is in the tree. */
import path from "node:path";
import { CacheEntry } from "./cache-entry.js";
import { unpackDebianPackage } from "./debian-package.js";
import { buildGoTools, type Machinery } from "./go-machinery.js";
import { goModuleSource } from "./go-module-source.js";

const chainsawVersion = "v0.2.15";
/** Of the images that the suite's Pods name, what this machine need not have. */
const packages = ["nginx", "busybox-static"] as const;

/** The module whose chart and whose suite our tests take. */
export const openFeatureOperator = [
  "github.com/open-feature/open-feature-operator",
  "v0.9.2",
  "h1:u+8iEJLJ3BY1zforFFNP6pUE2u8tUQTrag3SFoDKePw=",
] as const;

/** The environment variables by which test/node/upstream.test.ts finds it, or a sentence that says what can't be had. Rejects if a build fails. */
export async function fetchUpstreamSuite(): Promise<
  { readonly environment: Readonly<Record<string, string>> } | { readonly missing: string }
> {
  const suite = goModuleSource(...openFeatureOperator);
  if (suite === undefined) return { missing: "go could not fetch the module of the open-feature-operator." };
  const chainsaw = await buildChainsaw();
  if ("missing" in chainsaw) return chainsaw;
  try {
    const programs = new CacheEntry("upstream-programs", "debian").getSync((directory) => {
      for (const each of packages) unpackDebianPackage(each, directory);
    });
    const binary = path.join(chainsaw.directory, "chainsaw");
    return {
      environment: {
        BUNTING_UPSTREAM_SUITE: suite,
        BUNTING_CHAINSAW: binary,
        BUNTING_UPSTREAM_PROGRAMS: programs,
      },
    };
  } catch (error) {
    return { missing: (error as Error).message };
  }
}

/** Built in its own module, so that its go.sum says what its dependencies are. */
async function buildChainsaw(): Promise<Machinery> {
  const sum = "h1:t7pVLK2EDS2wmO5QZmEtaUtZ1ZLtmS3wxGK9ftV9Sko=";
  const module = goModuleSource("github.com/kyverno/chainsaw", chainsawVersion, sum);
  if (module === undefined) return { missing: "go could not fetch the module of chainsaw." };
  return buildGoTools({
    name: "chainsaw",
    module,
    packages: ["."],
    what: `chainsaw ${chainsawVersion} for the suite of the open-feature-operator (once; minutes)`,
  });
}
