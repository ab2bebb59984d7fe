/** A request of HTTP/1.1 that arrived whole, in one piece with its body, and has nothing out of the ordinary. */
export interface WholeRequest {
  /** The target of the request line: a path without a query. */
  readonly target: string;
  /** The Host header. */
  readonly host: string;
  readonly body: Buffer;
  /** The value of a header that was asked for when the reader was made, by its lower-case name. */
  header(name: string): string | undefined;
}

/** Reads what a connection sent; undefined if it is not a whole request, or one that node's parser should judge. */
export type WholeRequestReader = (bytes: Buffer) => WholeRequest | undefined;

/** Bytes that are read at most: a larger request is not small. */
const maxWholeBytes = 8 * 1024;
/** Node refuses more than a thousand headers, whatever their size: there can't be as many in this. */
const maxHeadBytes = 3_900;
const headEnd = "\r\n\r\n";
const requestLine = /POST (\/[\w\-.~%!$&'()*+,;=:@/]*) HTTP\/1\.1\r\n/y;
/** Lines of printable ASCII: no folded ones, no white space before the colon, no line that ends without CR. */
const headerLines = /(?:[\w!#$%&'*+\-.^`|~]+:[\t\x20-\x7e]*\r\n)+\r\n/y;
const length = /^\d{1,4}$/;
/** Headers that change how the body or the connection is read, or the answer written. */
const extraordinary: ReadonlySet<string> = new Set([
  "transfer-encoding",
  "expect",
  "upgrade",
  "te",
  "trailer",
  "proxy-connection",
  "origin",
]);

/**
 * Makes a reader of plain, small POST requests. It must never take a request otherwise than node's parser does, or two of them where a proxy in
 * front saw one: whatever is doubled, unusual or unfinished is not read at all. So it needs to be complete in nothing but what it refuses.
 *
 * @param headerNames lower-case names of the headers that `header` is asked for
 * @param limits sizes beyond which a request is refused, and so not read here
 */
export function wholeRequestReader(
  headerNames: readonly string[],
  { maxHeaderBytes, maxBodyBytes }: { readonly maxHeaderBytes: number; readonly maxBodyBytes: number },
): WholeRequestReader {
  const names = ["host", "content-length", "connection", ...extraordinary, ...headerNames].map(escaped);
  const knownHeader = new RegExp(`\\r\\n(${names.join("|")}):([^\\r]*)`, "gi");
  const asked: ReadonlySet<string> = new Set(headerNames);
  const maxBytes = Math.min(maxHeaderBytes, maxHeadBytes);
  return (bytes) => {
    if (bytes.length > maxWholeBytes) return undefined;
    const headBytes = bytes.indexOf(headEnd) + headEnd.length;
    if (headBytes < headEnd.length || headBytes > maxBytes) return undefined;
    const head = bytes.toString("latin1", 0, headBytes);
    requestLine.lastIndex = 0;
    const target = requestLine.exec(head)?.[1];
    if (target === undefined) return undefined;
    headerLines.lastIndex = requestLine.lastIndex;
    if (!headerLines.test(head)) return undefined;

    let host: string | undefined;
    let bodyBytes: number | undefined;
    let isKeptAlive = false;
    let headers: Map<string, string> | undefined;
    knownHeader.lastIndex = requestLine.lastIndex - 2;
    for (let found = knownHeader.exec(head); found !== null; found = knownHeader.exec(head)) {
      const name = (found[1] ?? "").toLowerCase();
      const value = (found[2] ?? "").trim();
      if (name === "host") {
        if (host !== undefined) return undefined;
        host = value;
      } else if (name === "content-length") {
        if (bodyBytes !== undefined || !length.test(value)) return undefined;
        bodyBytes = Number(value);
      } else if (name === "connection") {
        if (isKeptAlive || value.toLowerCase() !== "keep-alive") return undefined;
        isKeptAlive = true;
      } else if (!asked.has(name) || headers?.has(name) === true || extraordinary.has(name)) return undefined;
      if (asked.has(name)) (headers ??= new Map<string, string>()).set(name, value);
    }
    const body = bytes.subarray(headBytes);
    if (host === undefined || body.length !== (bodyBytes ?? 0) || body.length > maxBodyBytes)
      return undefined;
    return { target, host, body, header: (name) => headers?.get(name) };
  };
}

function escaped(name: string): string {
  return name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
