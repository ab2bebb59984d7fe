/** After this, what the first document brought along is garbage: buffers, messages, pieces of its text. */
const afterMs = 1_000;

/**
 * Has the garbage of the start collected once. V8 would let some megabytes of it lie until much more has been made, which on an idle agent
 * is never. Does nothing without --expose-gc, which the image's entrypoint has; it takes some ms.
 */
export function collectStartUpGarbage(): void {
  const { gc } = globalThis as { readonly gc?: () => void };
  if (gc !== undefined) setTimeout(() => gc(), afterMs).unref();
}
