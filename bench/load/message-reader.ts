import type { MessageHead, ReadHead } from "./message-head.js";

export interface MessageReaderOptions {
  readonly readHead: ReadHead;
  /** How many bytes of a message `readHead` needs (fewer if the message is shorter). */
  readonly headBytes: number;
  /** A message is complete. `length` is without the gRPC prefix; `number` counts the messages of the stream, from 1. */
  readonly onMessage: (head: MessageHead, length: number, number: number) => void;
  readonly onError: (error: Error) => void;
}

const noHead: MessageHead = { kind: "other", sequence: -1 };
const prefixBytes = 5;

/**
 * Splits a gRPC response stream into messages and reads the beginning of each, without keeping or copying a payload: the client must not
 * limit the server. Bytes are copied only if the beginning of a message arrives in pieces.
 */
export class MessageReader {
  readonly #options: MessageReaderOptions;
  #prefixRead = 0;
  #length = 0;
  #read = 0;
  #messageHead = noHead;
  #isCompressed = false;
  #isHeadRead = false;
  #head: Buffer | undefined;
  #count = 0;

  constructor(options: MessageReaderOptions) {
    this.#options = options;
  }

  /** The position within the current message; 0 between messages. */
  get pending(): number {
    return this.#prefixRead + this.#read;
  }

  /** Reads the bytes `start` … `end`; the buffer may be reused afterwards. */
  push(bytes: Buffer, start: number, end: number): void {
    let at = start;
    while (at < end) {
      if (this.#prefixRead < prefixBytes) {
        this.#readPrefixByte(bytes[at] ?? 0);
        at++;
        if (this.#prefixRead < prefixBytes || this.#length > 0) continue;
      }
      const until = Math.min(end, at + this.#length - this.#read);
      if (!this.#isHeadRead) this.#readHead(bytes, at, until);
      this.#read += until - at;
      at = until;
      if (this.#read === this.#length) this.#complete();
    }
  }

  #readPrefixByte(byte: number): void {
    if (this.#prefixRead === 0) {
      this.#isCompressed = byte === 1;
      if (byte > 1) this.#options.onError(new Error(`a message begins with ${byte}: that is not gRPC`));
    }
    // After the compression flag come four bytes of length.
    if (this.#prefixRead > 0) this.#length = this.#length * 256 + byte;
    this.#prefixRead++;
  }

  #readHead(bytes: Buffer, start: number, end: number): void {
    const { headBytes } = this.#options;
    const needed = Math.min(headBytes, this.#length);
    if (this.#read === 0 && end - start >= needed) {
      this.#messageHead = this.#interpret(bytes, start, end);
      this.#isHeadRead = true;
      return;
    }
    this.#head ??= Buffer.alloc(headBytes);
    bytes.copy(this.#head, this.#read, start, Math.min(end, start + needed - this.#read));
    if (this.#read + end - start < needed) return;
    this.#messageHead = this.#interpret(this.#head, 0, needed);
    this.#isHeadRead = true;
  }

  #interpret(bytes: Buffer, start: number, end: number): MessageHead {
    try {
      return this.#options.readHead(bytes, start, end, this.#isCompressed);
    } catch (cause) {
      this.#options.onError(new Error(`a message can't be read: ${String(cause)}`, { cause }));
      return noHead;
    }
  }

  #complete(): void {
    const head = this.#messageHead;
    const length = this.#length;
    this.#prefixRead = 0;
    this.#length = 0;
    this.#read = 0;
    this.#messageHead = noHead;
    this.#isHeadRead = false;
    this.#options.onMessage(head, length, ++this.#count);
  }
}
