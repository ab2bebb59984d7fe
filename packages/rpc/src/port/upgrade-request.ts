/** A request over HTTP/1.1 that asks to go on in HTTP/2 (RFC 7540 3.2). */
export interface UpgradeRequest {
  /** Its headers as HTTP/2 has them. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The parameters of HTTP2-Settings: the payload of a SETTINGS frame. */
  readonly settings: Buffer;
  /** Where its body begins, and ends. */
  readonly bodyStart: number;
  readonly end: number;
}

/** A larger head is served over HTTP/1.1: it would not fit into one frame. */
const maxHeadBytes = 8 * 1024;
/** A larger body is served over HTTP/1.1: it would not fit into the window of a stream. */
const maxBodyBytes = 48 * 1024;
const maxSettingsBytes = 256;
const endOfHead = "\r\n\r\n";
const requestLine = /^([A-Z]+) (\/\S*) HTTP\/1\.1$/;
// No expression for the white space around a value: where it can be matched in several ways, the time grows with a power of its length.
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerValue = /^[\x20-\x7e\x80-\xff]*$/;
/** What belongs to the connection, or has another name in HTTP/2. */
const dropped: ReadonlySet<string> = new Set([
  "connection",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "upgrade",
]);

/**
 * Reads the first request of a connection if it asks for the upgrade. Undefined for every other request, and for one that is in any way
 * unusual: it is served over HTTP/1.1, which the client must expect.
 */
export function parseUpgradeRequest(seen: Buffer): UpgradeRequest | undefined {
  if (!seen.includes("h2c")) return undefined;
  const headEnd = seen.subarray(0, maxHeadBytes).indexOf(endOfHead);
  if (headEnd === -1) return undefined;
  const [first = "", ...lines] = seen.toString("latin1", 0, headEnd).split("\r\n");
  const [, method, path] = requestLine.exec(first) ?? [];
  const fields = lines.map(parseField);
  const names = fields.map(([name]) => name.toLowerCase());
  const only = (wanted: string): string | undefined =>
    names.filter((name) => name === wanted).length === 1 ? fields[names.indexOf(wanted)]?.[1] : undefined;
  const host = only("host");
  const settings = parseSettings(only("http2-settings"));
  const length = names.includes("content-length") ? only("content-length") : "0";
  if (method === undefined || path === undefined || host === undefined || settings === undefined)
    return undefined;
  if (names.includes("") || names.includes("transfer-encoding") || names.includes("expect")) return undefined;
  if (!hasToken(only("upgrade"), "h2c") || !hasToken(only("connection"), "upgrade")) return undefined;
  if (!hasToken(only("connection"), "http2-settings")) return undefined;
  if (length === undefined || !/^\d{1,5}$/.test(length) || Number(length) > maxBodyBytes) return undefined;
  const bodyStart = headEnd + endOfHead.length;
  return {
    headers: [
      [":method", method],
      [":scheme", "http"],
      [":authority", host],
      [":path", path],
      ...fields.flatMap(([name, value]) => {
        const lowerCase = name.toLowerCase();
        const isDropped = dropped.has(lowerCase) || (lowerCase === "te" && value !== "trailers");
        return isDropped ? [] : [[lowerCase, value] as const];
      }),
    ],
    settings,
    bodyStart,
    end: bodyStart + Number(length),
  };
}

/** Without a name if it is none. */
function parseField(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(colon, 0));
  let [start, end] = [colon + 1, line.length];
  while (start < end && isBlank(line[start])) start++;
  while (end > start && isBlank(line[end - 1])) end--;
  const value = line.slice(start, end);
  return headerName.test(name) && headerValue.test(value) ? [name, value] : ["", ""];
}

/** Not what `trim` cuts off, such as a no-break space. */
function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

function hasToken(list: string | undefined, token: string): boolean {
  return (
    list
      ?.toLowerCase()
      .split(/[\s,]+/)
      .includes(token) === true
  );
}

function parseSettings(text: string | undefined): Buffer | undefined {
  if (text === undefined || !/^[\w-]*={0,2}$/.test(text)) return undefined;
  const settings = Buffer.from(text, "base64url");
  return settings.length % 6 === 0 && settings.length <= maxSettingsBytes ? settings : undefined;
}
