/**
 * Builds etcd, kube-apiserver, kube-controller-manager and kubectl from the Go module test/cluster/machinery. Run as a script
 * (`node --import=tsx scripts/cluster-machinery.ts`), it prints the directory of the binaries.
 */
import { cacheDirectory } from "./cache-directory.js";
import { buildGoModule, requiredVersion, type Machinery } from "./go-machinery.js";

const directory = "test/cluster/machinery";

/** Builds the binaries unless they are in the cache. Rejects if the build fails. */
export function buildMachinery(): Promise<Machinery> {
  const version = requiredVersion(directory, "k8s.io/kubernetes");
  return buildGoModule({
    directory,
    cache: process.env["BUNTING_CLUSTER_CACHE"] ?? cacheDirectory("cluster"),
    what: `Kubernetes ${version} for the cluster tests (once; 4 minutes on two cores)`,
    linkerFlags: `-X k8s.io/component-base/version.gitVersion=${version}`,
  });
}

if (process.argv[1] === import.meta.filename) {
  try {
    const machinery = await buildMachinery();
    if ("missing" in machinery) throw new Error(`no real API server: ${machinery.missing}`);
    console.log(machinery.directory);
  } catch (error) {
    console.error(`bunting: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
