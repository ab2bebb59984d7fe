import type { InjectionEntry, InjectionSpec } from "../api/injection.js";
import { annotations } from "../api/names.js";
import type { PodMetadata } from "../api/pod-manifest.js";

/** What a Pod asks for by its annotations. */
export interface InjectionRequest {
  /** Where an Injection has its entry: `sources` for a sidecar, `inProcess` for variables only. */
  readonly list: "sources" | "inProcess";
  /** The annotation's text as it is. */
  readonly text: string;
}

/** True for Pods that want flags. Nobody else's annotations are read. */
export function wantsFlags(metadata: PodMetadata): boolean {
  return metadata.annotations?.[annotations.enabled] === "true";
}

/** The request of a Pod that wants flags; undefined if it names nothing. As in the open-feature-operator, a FeatureFlagSource wins. */
export function injectionRequest(metadata: PodMetadata): InjectionRequest | undefined {
  const { [annotations.source]: source, [annotations.inProcess]: inProcess } = metadata.annotations ?? {};
  if (source !== undefined) return { list: "sources", text: source };
  return inProcess === undefined ? undefined : { list: "inProcess", text: inProcess };
}

/** The entry of a request; undefined if it is not compiled. */
export function entryOf(
  spec: InjectionSpec | undefined,
  { list, text }: InjectionRequest,
): InjectionEntry | undefined {
  const entries = spec?.[list] ?? {};
  return Object.hasOwn(entries, text) ? entries[text] : undefined;
}
