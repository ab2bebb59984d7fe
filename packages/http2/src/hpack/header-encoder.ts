import { staticTable } from "./static-table.js";

export type OutgoingHeaders = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** The index of each name, and of each name with its value, in the static table. */
const names = new Map<string, number>();
const fields = new Map<string, number>();
fillIndexes();

function fillIndexes(): void {
  for (let at = staticTable.length - 2; at >= 0; at -= 2) {
    const [name = "", value = ""] = staticTable.slice(at, at + 2);
    names.set(name, at / 2 + 1);
    fields.set(`${name}\n${value}`, at / 2 + 1);
  }
}

const blocks = new WeakMap<OutgoingHeaders, Buffer>();

/**
 * The header block of these fields (RFC 7541). It uses no dynamic table, and so is the same on every connection: the block of an object that
 * is never modified is encoded once.
 */
export function sharedHeaderBlock(headers: OutgoingHeaders): Buffer {
  let block = blocks.get(headers);
  if (block === undefined) blocks.set(headers, (block = encodeHeaders(headers)));
  return block;
}

/** As `sharedHeaderBlock`, for headers of one answer. Names must be in lower case; throws if a name or a value has line breaks. */
export function encodeHeaders(headers: OutgoingHeaders): Buffer {
  const bytes: number[] = [];
  for (const [name, values] of Object.entries(headers)) {
    if (values === undefined) continue;
    for (const value of Array.isArray(values) ? (values as readonly string[]) : [values])
      pushField(bytes, name, String(value));
  }
  return Buffer.from(bytes);
}

function pushField(bytes: number[], name: string, value: string): void {
  if (/[\0\r\n]/.test(name) || /[\0\r\n]/.test(value))
    throw new TypeError(`the header ${JSON.stringify(name)} has characters that no header can have`);
  const field = fields.get(`${name}\n${value}`);
  if (field !== undefined) {
    bytes.push(0x80 | field);
    return;
  }
  // A literal that the peer is not to add to its table (6.2.2).
  const index = names.get(name) ?? 0;
  pushInteger(bytes, 0, 0x0f, index);
  if (index === 0) pushText(bytes, name);
  pushText(bytes, value);
}

function pushText(bytes: number[], text: string): void {
  pushInteger(bytes, 0, 0x7f, text.length);
  for (let at = 0; at < text.length; at++) bytes.push(text.charCodeAt(at) & 0xff);
}

function pushInteger(bytes: number[], first: number, prefix: number, value: number): void {
  if (value < prefix) {
    bytes.push(first | value);
    return;
  }
  bytes.push(first | prefix);
  let rest = value - prefix;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
}
