/** Builds Helm from the Go module test/helm/machinery. Run as a script (`node --import=tsx scripts/helm-machinery.ts`), it prints its directory. */
import { cacheDirectory } from "./cache-directory.js";
import { buildGoModule, requiredVersion, type Machinery } from "./go-machinery.js";

const directory = "test/helm/machinery";

/** Builds the binary unless it is in the cache. Rejects if the build fails. */
export function buildHelm(): Promise<Machinery> {
  const version = requiredVersion(directory, "helm.sh/helm/v4");
  return buildGoModule({
    directory,
    cache: cacheDirectory("helm"),
    what: `Helm ${version} for the tests of the chart (once; 2 minutes on two cores)`,
    linkerFlags: `-X helm.sh/helm/v4/internal/version.version=${version}`,
  });
}

if (process.argv[1] === import.meta.filename) {
  const machinery = await buildHelm();
  console.log("missing" in machinery ? machinery.missing : machinery.directory);
}
