/** A value of RESP2, as a command or a reply has it. */
export type RespValue = string | number | null | RespError | readonly RespValue[];

/** A reply that is an error, as the text that is on the wire. */
export class RespError {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const crlf = "\r\n";

/** Texts are latin1, so that bytes are kept. */
export function encodeResp(value: RespValue): Buffer {
  return Buffer.from(text(value), "latin1");
}

function text(value: RespValue): string {
  if (value === null) return "$-1\r\n";
  if (typeof value === "number") return `:${value}${crlf}`;
  if (typeof value === "string") return `$${value.length}${crlf}${value}${crlf}`;
  if (value instanceof RespError) return `-${value.text}${crlf}`;
  return `*${value.length}${crlf}${value.map(text).join("")}`;
}

/** Cuts a stream of whole values out of the bytes that come. Simple strings are read as texts. */
export class RespReader {
  #rest = Buffer.alloc(0);

  /** The values that are complete now, each with its bytes. */
  read(chunk: Buffer): { readonly value: RespValue; readonly bytes: Buffer }[] {
    const data = Buffer.concat([this.#rest, chunk]);
    const read: { value: RespValue; bytes: Buffer }[] = [];
    let at = 0;
    for (;;) {
      const one = valueAt(data, at);
      if (one === undefined) break;
      read.push({ value: one.value, bytes: data.subarray(at, one.end) });
      at = one.end;
    }
    this.#rest = data.subarray(at);
    return read;
  }
}

/** Undefined if it is not complete yet. */
function valueAt(data: Buffer, at: number): { readonly value: RespValue; readonly end: number } | undefined {
  const lineEnd = data.indexOf(crlf, at);
  if (lineEnd < 0) return undefined;
  const line = data.toString("latin1", at + 1, lineEnd);
  const next = lineEnd + 2;
  const kind = String.fromCharCode(data[at] ?? 0);
  if (kind === "+") return { value: line, end: next };
  if (kind === "-") return { value: new RespError(line), end: next };
  if (kind === ":") return { value: Number(line), end: next };
  const length = Number(line);
  if (length < 0) return { value: null, end: next };
  if (kind === "$") {
    const end = next + length + 2;
    return end > data.length ? undefined : { value: data.toString("latin1", next, next + length), end };
  }
  const elements: RespValue[] = [];
  let end = next;
  for (let index = 0; index < length; index++) {
    const element = valueAt(data, end);
    if (element === undefined) return undefined;
    elements.push(element.value);
    end = element.end;
  }
  return { value: elements, end };
}
