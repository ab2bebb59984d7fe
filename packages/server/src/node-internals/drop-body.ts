import type { Socket } from "node:net";

/** Node's parser of a connection, which is not in the types. Under the number `kOnBody` it has what it calls back with each piece of a body. */
interface Parser {
  readonly constructor: { readonly kOnBody?: unknown };
  [callback: number]: unknown;
}

/**
 * Has node's parser pass over the rest of what was read from a connection that is about to end. It would go on calling back for each piece of
 * the body in it, which takes ten times as long. Where the parser is another one than is expected, it does: that of
 * Node 26 looks the callback up once for all that was read.
 */
export function dropBody(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: Parser | null };
  const index = parser?.constructor.kOnBody;
  if (!parser || typeof index !== "number") return;
  const onBody = parser[index];
  if (typeof onBody !== "function") return;
  parser[index] = undefined;
  // Node uses the parser again, for another connection, as soon as this one has closed.
  socket.once("close", () => (parser[index] = onBody));
}
