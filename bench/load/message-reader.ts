/** Reads the number that orders payloads from the head of one, which lies at `start` … `end`; -1 if there is none. */
export type ReadSequence = (bytes: Buffer, start: number, end: number) => number;

export interface MessageReaderOptions {
  readonly readSequence: ReadSequence;
  /** How much of a message `readSequence` must be given (less where the message is shorter). */
  readonly headBytes: number;
  /** A message is complete. `length` is without the gRPC prefix. */
  readonly onMessage: (sequence: number, length: number) => void;
  readonly onError: (error: Error) => void;
}

const prefixBytes = 5;

/**
 * Cuts a gRPC response stream into messages and reads the number of each, without keeping or copying a payload: the client must not be
 * what limits the server. Only a message whose head came in pieces has it put together.
 */
export class MessageReader {
  readonly #options: MessageReaderOptions;
  #prefixRead = 0;
  #length = 0;
  #read = 0;
  #sequence = -1;
  #isHeadRead = false;
  #head: Buffer | undefined;

  constructor(options: MessageReaderOptions) {
    this.#options = options;
  }

  /** How far into a message the stream stands; 0 between messages. */
  get pending(): number {
    return this.#prefixRead + this.#read;
  }

  /** Takes the bytes `start` … `end`; the buffer may be used for something else afterwards. */
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
    if (this.#prefixRead === 0 && byte !== 0) {
      this.#options.onError(new Error(`a message begins with ${byte}: compressed, or not gRPC`));
    }
    // After the flag, four bytes of length.
    if (this.#prefixRead > 0) this.#length = this.#length * 256 + byte;
    this.#prefixRead++;
  }

  #readHead(bytes: Buffer, start: number, end: number): void {
    const { readSequence, headBytes } = this.#options;
    const needed = Math.min(headBytes, this.#length);
    if (this.#read === 0 && end - start >= needed) {
      this.#sequence = readSequence(bytes, start, end);
      this.#isHeadRead = true;
      return;
    }
    this.#head ??= Buffer.alloc(headBytes);
    bytes.copy(this.#head, this.#read, start, Math.min(end, start + needed - this.#read));
    if (this.#read + end - start < needed) return;
    this.#sequence = readSequence(this.#head, 0, needed);
    this.#isHeadRead = true;
  }

  #complete(): void {
    const sequence = this.#sequence;
    const length = this.#length;
    this.#prefixRead = 0;
    this.#length = 0;
    this.#read = 0;
    this.#sequence = -1;
    this.#isHeadRead = false;
    this.#options.onMessage(sequence, length);
  }
}
