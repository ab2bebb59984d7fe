import { podRequest, type PodRequest } from "@bunting/featureflags/resources";
import type { InjectionEntry, InjectionSpec } from "../api/injection.js";
import { annotations } from "../api/names.js";
import type { PodMetadata } from "../api/pod-manifest.js";

/** Where an Injection has what a Pod asks for. */
export type InjectionRequest = Pick<PodRequest, "list" | "text">;

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
