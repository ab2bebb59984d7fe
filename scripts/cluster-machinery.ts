/**
 * Builds etcd, kube-apiserver, kube-controller-manager and kubectl from the Go module test/machinery. Run as a script
 * (`node --import=tsx scripts/cluster-machinery.ts`), it prints the directory of the binaries.
 */
import { buildGoTools, requiredVersion, type Machinery } from "./go-machinery.js";

/** The Go module of everything that tests take of Kubernetes, Helm and CoreDNS. */
export const machineryModule = "test/machinery";

const packages = [
  "go.etcd.io/etcd/server/v3",
  "k8s.io/kubernetes/cmd/kube-apiserver",
  "k8s.io/kubernetes/cmd/kube-controller-manager",
  "k8s.io/kubernetes/cmd/kubectl",
];

/** The version of Kubernetes, and the linker's flags that tell it to its programs. */
export function kubernetes(): { readonly version: string; readonly linkerFlags: string } {
  const version = requiredVersion(machineryModule, "k8s.io/kubernetes");
  return { version, linkerFlags: `-X k8s.io/component-base/version.gitVersion=${version}` };
}

/** Builds the binaries unless they are in the cache. Rejects if the build fails. */
export function buildMachinery(): Promise<Machinery> {
  const { version, linkerFlags } = kubernetes();
  const what = `Kubernetes ${version} for the cluster tests (once; 4 to 5 minutes on two cores)`;
  return buildGoTools({ name: "cluster", module: machineryModule, packages, what, linkerFlags });
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
