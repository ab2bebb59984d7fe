import type { InjectionEntry } from "../api/injection.js";
import type { PodSpec } from "../api/pod-manifest.js";

/** About as much as the API server stores of one object. */
const maxCharacters = 1024 * 1024;

/**
 * True if a Pod with the variables and mounts of the entry in each of its containers could not be stored. That must be known before they are put
 * in: nobody has counted the containers of a Pod that is shown to us, and some hundred KB for each of thousands would take all memory.
 */
export function addsTooMuch(
  { containers, initContainers = [] }: PodSpec,
  { env, mounts }: InjectionEntry,
): boolean {
  return JSON.stringify([env, mounts]).length * (containers.length + initContainers.length) > maxCharacters;
}
