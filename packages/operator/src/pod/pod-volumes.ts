import type { InjectionEntry } from "../api/injection.js";
import type { PodSpec, Volume } from "../api/pod-manifest.js";

/** The Pod's volumes and the entry's, of which those are left out whose names the Pod has already. */
export function completeVolumes(spec: PodSpec, entry: InjectionEntry): Pick<PodSpec, "volumes"> {
  const { volumes = [], serviceAccountName = "" } = spec;
  const missing = entry.volumes.filter(({ name }) => !volumes.some((volume) => volume.name === name));
  if (missing.length === 0) return {};
  return { volumes: [...volumes, ...(serviceAccountName === "" ? missing.map(withoutToken) : missing)] };
}

/** The Pod's Secrets for registries and the entry's. */
export function completePullSecrets(
  { imagePullSecrets = [] }: PodSpec,
  entry: InjectionEntry,
): Pick<PodSpec, "imagePullSecrets"> {
  const missing = entry.imagePullSecrets.filter((name) => !imagePullSecrets.some((of) => of.name === name));
  if (missing.length === 0) return {};
  return { imagePullSecrets: [...imagePullSecrets, ...missing.map((name) => ({ name }))] };
}

/** The API server refuses tokens in Pods without a ServiceAccount. The volume stays, because containers mount it. */
function withoutToken(volume: Volume): Volume {
  const { projected } = volume as {
    readonly projected?: { readonly sources?: readonly Readonly<Record<string, unknown>>[] };
  };
  if (projected?.sources === undefined) return volume;
  const sources = projected.sources.filter((source) => source["serviceAccountToken"] === undefined);
  return { ...volume, projected: { ...projected, sources } };
}
