import type { Socket } from "node:net";

/** Node's parser of a connection, which is not in the types. It calls back with each request, and stops parsing if 2 is returned. */
type Parsed = Socket & { readonly parser?: { onIncoming?: () => number } | null };

/** Whether the parser of a connection, which node's server has taken, is as expected. */
export function hasRequestCallback(socket: Socket): boolean {
  return typeof (socket as Parsed).parser?.onIncoming === "function";
}

/**
 * Has node's parser stop at the next request in what was read from a connection that has been destroyed. It would go on to the end of the
 * chunk, with node's objects and an error for each request in it. Where the parser is another one than is expected, it does.
 */
export function stopParsing(socket: Socket): void {
  const { parser } = socket as Parsed;
  if (parser?.onIncoming) parser.onIncoming = () => 2;
}
