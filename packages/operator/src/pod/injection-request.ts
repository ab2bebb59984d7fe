import { podRequest, type PodRequest } from "@bunting/featureflags/resources";
import type { InjectionEntry, InjectionSpec } from "../api/injection.js";
import { annotations } from "../api/names.js";
import type { PodMetadata } from "../api/pod-manifest.js";

/** Where an Injection has what a Pod asks for. */
export type InjectionRequest = Pick<PodRequest, "list" | "text">;

/** Of an Injection as it is stored: API servers let objects have no spec. */
export interface StoredSpec {
  readonly spec?: InjectionSpec;
}

/** True for Pods that want flags. Nobody else's annotations are read. */
export function wantsFlags(metadata: PodMetadata): boolean {
  return metadata.annotations?.[annotations.enabled] === "true";
}

/** The request of a Pod that wants flags; undefined if it names nothing. */
export function injectionRequest(metadata: PodMetadata): InjectionRequest | undefined {
  return podRequest(metadata.annotations ?? {});
}

/** The entry of a request; undefined if it is not compiled. */
export function entryOf(
  spec: InjectionSpec | undefined,
  { list, text }: InjectionRequest,
): InjectionEntry | undefined {
  const entries = spec?.[list] ?? {};
  return Object.hasOwn(entries, text) ? entries[text] : undefined;
}

/** Likewise of all Injections of a namespace, as they are stored. */
export function storedEntryOf(
  injections: readonly StoredSpec[],
  request: InjectionRequest,
): InjectionEntry | undefined {
  return injections.map(({ spec }) => entryOf(spec, request)).find((entry) => entry !== undefined);
}
