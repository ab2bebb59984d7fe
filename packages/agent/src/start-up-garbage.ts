/** After the first, what the first document brought along is garbage; V8 gives memory back only with the collections that follow. */
const afterMs = [1_000, 1_500, 2_000, 2_500];

/**
 * Has the garbage of the start collected. V8 would let some megabytes of it lie until much more has been made, which on an idle agent
 * is never. Does nothing without --expose-gc, which the image's entrypoint has; each takes some ms.
 */
export function collectStartUpGarbage(): void {
  const { gc } = globalThis as { readonly gc?: () => void };
  if (gc === undefined) return;
  for (const ms of afterMs) setTimeout(() => gc(), ms).unref();
}
