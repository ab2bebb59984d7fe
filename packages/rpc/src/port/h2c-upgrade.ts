import type { Socket } from "node:net";
import type { PeerMemory } from "../limits/peer-memory.js";
import { preface } from "./preface-sniffer.js";
import { parseUpgradeRequest, type UpgradeRequest } from "./upgrade-request.js";

export interface H2cUpgradeOptions {
  /** How long a client may take for the rest of its request, and then for its preface. */
  readonly timeoutMs: number;
  readonly memory: PeerMemory | undefined;
  /** Receives sockets that speak HTTP/2 now; bytes that were read have been put back. */
  readonly onHttp2: (socket: Socket) => void;
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n";
const frameHeadBytes = 9;
const [dataType, headersType, settingsType] = [0, 1, 4];
const [ackFlag, endStreamFlag, endHeadersFlag] = [0x1, 0x1, 0x4];
const maxFrameBytes = 16 * 1024;
/** What a client's first SETTINGS may have: all that exist, several times. */
const maxSettingsBytes = 1024;

/**
 * The upgrade from HTTP/1.1 to HTTP/2 on the same connection. The engine knows nothing of it: it gets the bytes that the client would have sent if it had known that this server speaks HTTP/2: its
 * preface, its SETTINGS with those of HTTP2-Settings before them, and the request as stream 1. What the client sends afterwards follows.
 */
export class H2cUpgrade {
  readonly #options: H2cUpgradeOptions;

  constructor(options: H2cUpgradeOptions) {
    this.#options = options;
  }

  /** Takes a connection over if its first request asks for the upgrade. `seen` are the bytes that have been put back into the socket. */
  take(socket: Socket, seen: Buffer): boolean {
    const request = parseUpgradeRequest(seen);
    const { memory } = this.#options;
    if (request === undefined || memory?.isFull === true) return false;
    new PendingUpgrade(socket, request, this.#options).begin();
    return true;
  }
}

class PendingUpgrade {
  readonly #socket: Socket;
  readonly #request: UpgradeRequest;
  readonly #options: H2cUpgradeOptions;
  readonly #onReadable = (): void => this.#read();
  readonly #release: () => void;
  #bytes: Buffer = Buffer.alloc(0);
  #body: Buffer | undefined;

  constructor(socket: Socket, request: UpgradeRequest, options: H2cUpgradeOptions) {
    this.#socket = socket;
    this.#request = request;
    this.#options = options;
    const account = options.memory?.open(() => socket.destroy());
    account?.charge(request.end + maxFrameBytes);
    const timer = setTimeout(() => socket.destroy(), options.timeoutMs);
    const onClose = (): void => this.#release();
    socket.once("close", onClose);
    this.#release = () => {
      clearTimeout(timer);
      account?.close();
      socket.off("close", onClose);
      socket.off("readable", this.#onReadable);
    };
  }

  begin(): void {
    this.#socket.on("readable", this.#onReadable);
    this.#read();
  }

  #read(): void {
    for (let chunk = this.#next(); chunk !== null; chunk = this.#next())
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
    const { bodyStart, end } = this.#request;
    if (this.#body === undefined) {
      if (this.#bytes.length < end) return;
      this.#body = this.#bytes.subarray(bodyStart, end);
      this.#bytes = this.#bytes.subarray(end);
      this.#socket.write(switching);
    }
    const settings = firstSettings(this.#bytes);
    if (settings === "incomplete") return;
    this.#release();
    if (settings === "invalid") {
      this.#socket.destroy();
      return;
    }
    const rest = this.#bytes.subarray(preface.length + frameHeadBytes + settings.length);
    this.#socket.unshift(Buffer.concat([...opening(this.#request, settings, this.#body), rest]));
    this.#options.onHttp2(this.#socket);
  }

  #next(): Buffer | null {
    return this.#socket.read() as Buffer | null;
  }
}

/** The payload of the SETTINGS frame that must follow the preface. */
function firstSettings(bytes: Buffer): Buffer | "incomplete" | "invalid" {
  const known = Math.min(bytes.length, preface.length);
  if (bytes.compare(preface, 0, known, 0, known) !== 0) return "invalid";
  const frame = bytes.subarray(preface.length);
  if (frame.length < frameHeadBytes) return "incomplete";
  const length = frame.readUIntBE(0, 3);
  const isSettings =
    frame[3] === settingsType && ((frame[4] ?? 0) & ackFlag) === 0 && frame.readUInt32BE(5) === 0;
  if (!isSettings || length > maxSettingsBytes || length % 6 !== 0) return "invalid";
  return frame.length < frameHeadBytes + length
    ? "incomplete"
    : frame.subarray(frameHeadBytes, frameHeadBytes + length);
}

/** What a client sends that begins with this request. */
function opening({ headers, settings }: UpgradeRequest, clientSettings: Buffer, body: Buffer): Buffer[] {
  const parts = [
    preface,
    // One frame: the client expects one acknowledgement.
    frame(settingsType, 0, 0, Buffer.concat([settings, clientSettings])),
    frame(
      headersType,
      endHeadersFlag | (body.length === 0 ? endStreamFlag : 0),
      1,
      Buffer.concat(headers.map(literal)),
    ),
  ];
  for (let at = 0; at < body.length; at += maxFrameBytes) {
    const isLast = at + maxFrameBytes >= body.length;
    parts.push(frame(dataType, isLast ? endStreamFlag : 0, 1, body.subarray(at, at + maxFrameBytes)));
  }
  return parts;
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(frameHeadBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header field of HPACK with its name, not indexed and not compressed (RFC 7541 6.2.2). */
function literal([name, value]: readonly [string, string]): Buffer {
  return Buffer.concat([Buffer.of(0), string(name), string(value)]);
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  const length: number[] = [];
  if (bytes.length < 0x7f) length.push(bytes.length);
  else {
    length.push(0x7f);
    let rest = bytes.length - 0x7f;
    for (; rest > 0x7f; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}
