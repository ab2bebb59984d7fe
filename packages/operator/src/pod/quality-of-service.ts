import { nanoUnits } from "@bunting/featureflags/resources";
import type { InjectionEntry } from "../api/injection.js";
import type { Container, PodSpec } from "../api/pod-manifest.js";

/**
 * The sidecar of the entry as the Pod's quality of service needs it; undefined if the entry has none.
 *
 * A Pod of the class Guaranteed, whose containers all have limits that equal their requests, keeps its class. A Pod with resources of its own
 * shares them among its containers, and is refused if theirs add up to more: the sidecar claims none of its own there.
 */
export function sidecarFor(spec: PodSpec, { container, guaranteed }: InjectionEntry): Container | undefined {
  if (container === undefined) return undefined;
  if (hasOwnResources(spec)) return withoutResources(container);
  return isGuaranteed(spec) ? (guaranteed ?? container) : container;
}

function withoutResources(container: Container): Container {
  const fields = Object.entries(container).filter(([field]) => field !== "resources");
  return { ...Object.fromEntries(fields), name: container.name };
}

function hasOwnResources({ resources: { limits = {}, requests = {} } = {} }: PodSpec): boolean {
  return Object.keys(limits).length > 0 || Object.keys(requests).length > 0;
}

function isGuaranteed({ containers, initContainers = [] }: PodSpec): boolean {
  return [...containers, ...initContainers].every(({ resources: { limits = {}, requests = {} } = {} }) =>
    ["cpu", "memory"].every((resource) => {
      const limit = nanoUnits(limits[resource] ?? 0) ?? 0n;
      // The API server sets absent requests to the limits.
      return limit > 0n && nanoUnits(requests[resource] ?? limits[resource] ?? 0) === limit;
    }),
  );
}
