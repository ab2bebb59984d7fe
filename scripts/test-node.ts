/**
 * `npm run test:node`: runs test/node on a real Kubernetes node, in namespaces of its own, with the images of the last commit. What the node runs
 * and the images are built first if necessary. Arguments are files, of which a word is enough (`npm run test:node -- sidecar`), and mocha's options.
 * `npm run test:memory` runs the tests of memory, which this leaves out, and `npm run test:upstream` the suite of the open-feature-operator. Where no node can run it says so, and the tests count as skipped.
 * BUNTING_IMAGES names a layout directory (OCI) with other images called agent and proxy.
 */
import path from "node:path";
import { buildImages } from "./images/build-images.js";
import { missingForImages } from "./images/buildah.js";
import { scaled } from "../test/support/scale.js";
import { goModuleSource } from "./go-module-source.js";
import { buildHelm } from "./helm-machinery.js";
import { buildNodeMachinery } from "./node-machinery.js";
import { nodeSpecs } from "./node-specs.js";
import { runInNamespaces } from "./real-node/namespaces.js";
import { missingForNode } from "./real-node/requirements.js";
import { skipTests } from "./skip-tests.js";
import { fetchUpstreamSuite, openFeatureOperator } from "./upstream-suite.js";

/** Longer than all tests take on a busy machine. */
const deadlineMs = scaled(1_800_000, 900_000);

const specs = nodeSpecs(process.argv.slice(2));
const prepared = await prepare();
if ("missing" in prepared) {
  process.exitCode = await skipTests("tests on a real node", "real-node", prepared.missing, specs);
} else {
  Object.assign(process.env, prepared.environment);
  const inside = path.join(import.meta.dirname, "real-node/inside.ts");
  const mocha = ["--timeout", "120000", ...specs];
  process.exitCode = await runInNamespaces(
    [process.execPath, "--conditions=@bunting/source", "--import=tsx", inside, ...mocha],
    { deadlineMs },
  );
}

/** What the tests need to know about what was built, or a sentence that says why nothing can run. */
async function prepare(): Promise<
  { readonly environment: Readonly<Record<string, string>> } | { readonly missing: string }
> {
  const missing = missingForNode() ?? missingForImages();
  if (missing !== undefined) return { missing };
  const machinery = await buildNodeMachinery();
  if ("missing" in machinery) return machinery;
  const helm = await buildHelm();
  // No test can fetch it: the namespaces have no way out. Without it those of the migration are skipped.
  goModuleSource(...openFeatureOperator);
  const suite = specs.some((each) => each.includes("upstream.test")) ? await fetchUpstreamSuite() : undefined;
  if (suite !== undefined && "missing" in suite) return suite;
  const environment = {
    ...("directory" in helm ? { BUNTING_HELM: `${helm.directory}/helm` } : {}),
    ...suite?.environment,
    BUNTING_CLUSTER_BIN: machinery.cluster,
    BUNTING_NODE_BIN: machinery.node,
    BUNTING_PODS_BIN: machinery.pods,
    BUNTING_IMAGES: process.env["BUNTING_IMAGES"] ?? layoutOfCommit(),
  };
  return { environment };
}

/** The images of the last commit, in a layout directory. */
function layoutOfCommit(): string {
  console.error("bunting: building the images of the last commit, unless they are there already …");
  const images = buildImages();
  if ("missing" in images) throw new Error(images.missing);
  return images.agent.layout;
}
