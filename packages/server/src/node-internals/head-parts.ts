import type { Socket } from "node:net";

/** Learns of the parts of a head, or of the trailers of a body, that has not ended. */
export interface HeadPartListener {
  /** @param texts the names and values of some 32 headers, as `IncomingMessage.rawHeaders` has them */
  onHeadPart(texts: readonly string[], url: string): void;
}

const listener = Symbol("the HeadPartListener of a socket");
interface Watched {
  [listener]?: HeadPartListener | undefined;
}

type OnHeaders = (this: Parser, texts: readonly string[], url: string) => void;

/** Node's parser of a connection, which is not in the types. Under the number `kOnHeaders` it has what it calls back with each 32 headers. */
interface Parser {
  readonly constructor: { readonly kOnHeaders?: unknown };
  readonly socket?: Watched | null;
  [callback: number]: unknown;
}

/** The listener that all parsers of node have under `kOnHeaders`. */
let gather: OnHeaders | undefined;

function gatherAndReport(this: Parser, texts: readonly string[], url: string): void {
  gather?.call(this, texts, url);
  const onPart = this.socket?.[listener];
  onPart?.onHeadPart(texts, url);
}

/** Whether the parser of a connection, which node's server has taken, is as expected. */
export function hasHeadParts(socket: Socket): boolean {
  const { parser } = socket as Socket & { readonly parser?: Parser | null };
  const index = parser?.constructor.kOnHeaders;
  return typeof index === "number" && typeof parser?.[index] === "function";
}

/**
 * Calls back with what node gathers of a head before it is complete: two strings for each header, which take ten times as many bytes as small
 * headers have. Heads of fewer than 32 headers come without a call. Where the parser is another one than is expected, there are no calls.
 */
export function watchHeadParts(socket: Socket, onPart: HeadPartListener): void {
  const watched = socket as Socket & Watched & { readonly parser?: Parser | null };
  const { parser } = watched;
  const index = parser?.constructor.kOnHeaders;
  if (!parser || typeof index !== "number") return;
  watched[listener] = onPart;
  const present = parser[index];
  // Node uses the parser again, for other connections, and for some that are none of ours.
  if (present === gatherAndReport || typeof present !== "function") return;
  gather ??= present as OnHeaders;
  if (present === gather) parser[index] = gatherAndReport;
}
