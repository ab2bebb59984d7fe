/** Builds Helm from the Go module test/machinery. Run as a script (`node --import=tsx scripts/helm-machinery.ts`), it prints its directory. */
import { machineryModule as module } from "./cluster-machinery.js";
import { buildGoTools, requiredVersion, type Machinery } from "./go-machinery.js";

/** Builds the binary unless it is in the cache. Rejects if the build fails. */
export function buildHelm(): Promise<Machinery> {
  const version = requiredVersion(module, "helm.sh/helm/v4");
  return buildGoTools({
    name: "helm",
    module,
    packages: ["helm.sh/helm/v4/cmd/helm"],
    what: `Helm ${version} for the tests of the chart (once; half a minute more than Kubernetes)`,
    linkerFlags: `-X helm.sh/helm/v4/internal/version.version=${version}`,
  });
}

if (process.argv[1] === import.meta.filename) {
  const machinery = await buildHelm();
  console.log("missing" in machinery ? machinery.missing : machinery.directory);
}
