import type { Container } from "../api/pod-manifest.js";

/** Init containers of service meshes: they give the Pod its network, so that everything else comes after them. */
const meshContainers: ReadonlySet<string> = new Set([
  "istio-validation",
  "istio-init",
  "istio-proxy",
  "linkerd-init",
  "linkerd-network-validator",
  "linkerd-proxy",
]);

/**
 * The index in a Pod's init containers at which the sidecar is inserted: behind those of a mesh that lead the list, before all others, so that
 * these have flags too. A mesh that is injected later puts itself in front.
 */
export function sidecarPlace(initContainers: readonly Container[] = []): number {
  const first = initContainers.findIndex(({ name }) => !meshContainers.has(name));
  return first === -1 ? initContainers.length : first;
}
