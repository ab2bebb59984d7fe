/** True if none of the Pod's containers runs, or will run again, by its status's phase. */
export function hasEnded({ phase }: { readonly phase?: unknown }): boolean {
  return phase === "Succeeded" || phase === "Failed";
}
