import type { InjectionEntry, InjectionSpec } from "@bunting/operator/internal/api/injection.js";
import type { PodManifest } from "@bunting/operator/internal/api/pod-manifest.js";
import { inject, markNotInjected } from "@bunting/operator/internal/pod/inject.js";
import { entryOf, injectionRequest } from "@bunting/operator/internal/pod/injection-request.js";
import { expect } from "chai";
import type { InjectionWorld, InjectionWorlds } from "./injection-world.js";

/** The Pod that our webhook would make by these entries. */
export function admitted(pod: PodManifest, entries: InjectionSpec): PodManifest {
  const request = injectionRequest(pod.metadata);
  const entry: InjectionEntry | undefined = request && entryOf(entries, request);
  if (entry === undefined) return pod;
  const result = inject(pod, entry, "policy");
  return result.kind === "injected" ? result.pod : markNotInjected(pod, result.reason);
}

/** The API server's policy and our webhook make the same Pod by these entries, which is returned. */
export async function expectEqualWays(
  pod: PodManifest,
  entries: InjectionSpec,
  worlds: InjectionWorlds,
  { injecting, plain }: InjectionWorld,
): Promise<PodManifest> {
  const [byPolicy, defaulted] = await Promise.all([worlds.create(injecting, pod), worlds.create(plain, pod)]);
  const byWebhook = await worlds.create(plain, admitted(defaulted, entries));
  expect(byPolicy).to.deep.equal(byWebhook);
  return byPolicy;
}
