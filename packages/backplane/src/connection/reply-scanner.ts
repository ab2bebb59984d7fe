/**
 * Limit of elements, above the longest answers: 20,000 topics, and 4,096 announcements of some ten elements. Parsers allocate
 * announced arrays at once, and some hundred bytes for each element, also an empty one.
 */
const maxElements = 64 * 1024;
/** Limit of nesting; announcements are five deep. */
const maxDepth = 16;
/** Limit of a line: a number, a state, or an error, of which Redis itself sends a few hundred bytes. */
const maxLineBytes = 64 * 1024;
/** A sign and the digits of what may be announced. */
const maxLengthCharacters = 12;
const carriageReturn = 13;
const lineFeed = 10;

/**
 * ReplyScanner walks over the frames of replies (RESP2) as they come, keeps none of them, and throws where a length that
 * is announced, or the bytes that have come, exceed any answer to the backplane. ReplyGuard names the attack.
 */
export class ReplyScanner {
  /** The most bytes of a whole reply. */
  maxReplyBytes: number;
  /** Size of the reply under way. */
  #bytes = 0;
  #elements = 0;
  /** Missing elements of each open array, the innermost last. */
  readonly #open: number[] = [];
  /** Missing bytes of the string under way, with its line end. */
  #textLeft = 0;
  #lineBytes = 0;
  /** The beginning of the line that is under way. */
  #line = "";
  #isAtLineEnd = false;

  constructor(maxReplyBytes: number) {
    this.maxReplyBytes = maxReplyBytes;
  }

  /** @throws Error that says what is wrong; nothing more can be scanned then */
  scan(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      const from = at;
      if (this.#textLeft > 0) at = this.#scanText(chunk, at);
      else if (this.#isAtLineEnd) at = this.#scanLineEnd(chunk, at);
      else at = this.#scanLine(chunk, at);
      // A reply that has just ended has no bytes any more.
      if (this.#isUnderWay) this.#bytes += at - from;
      if (this.#bytes > this.maxReplyBytes)
        throw new Error(`${this.#bytes} bytes came without the end of a reply`);
    }
  }

  get #isUnderWay(): boolean {
    return this.#open.length > 0 || this.#textLeft > 0 || this.#lineBytes > 0;
  }

  #scanText(chunk: Buffer, at: number): number {
    const bytes = Math.min(this.#textLeft, chunk.length - at);
    this.#textLeft -= bytes;
    if (this.#textLeft === 0) this.#endElement();
    return at + bytes;
  }

  #scanLine(chunk: Buffer, at: number): number {
    const found = chunk.indexOf(carriageReturn, at);
    const end = found < 0 ? chunk.length : found;
    if (this.#line.length <= maxLengthCharacters)
      this.#line += chunk.toString("latin1", at, Math.min(end, at + maxLengthCharacters + 1));
    this.#lineBytes += Math.max(1, end - at);
    if (this.#lineBytes > maxLineBytes) throw new Error(`a line of more than ${maxLineBytes} bytes came`);
    if (found < 0) return end;
    this.#isAtLineEnd = true;
    return end + 1;
  }

  /** The client's parser takes whatever follows for the rest of the line end. */
  #scanLineEnd(chunk: Buffer, at: number): number {
    if (chunk[at] !== lineFeed) throw new Error("a line came whose end is broken");
    const line = this.#line;
    this.#line = "";
    this.#lineBytes = 0;
    this.#isAtLineEnd = false;
    if (line.startsWith("$")) this.#beginText(lengthOf(line));
    else if (line.startsWith("*")) this.#beginArray(lengthOf(line));
    else if (/^[-+:]/.test(line)) this.#endElement();
    else throw new Error(`no reply begins with ${JSON.stringify(line.slice(0, 1))}`);
    return at + 1;
  }

  #beginText(bytes: number): void {
    if (bytes > this.maxReplyBytes) throw new Error(`a text of ${bytes} bytes was announced`);
    if (bytes < 0) this.#endElement();
    else this.#textLeft = bytes + 2;
  }

  #beginArray(elements: number): void {
    this.#elements += Math.max(0, elements);
    if (this.#elements > maxElements) throw new Error(`an array of ${elements} elements was announced`);
    if (elements <= 0) this.#endElement();
    else if (this.#open.length >= maxDepth) throw new Error(`arrays came ${maxDepth + 1} deep`);
    else this.#open.push(elements);
  }

  #endElement(): void {
    for (;;) {
      const left = this.#open.pop();
      if (left === undefined) break;
      if (left > 1) {
        this.#open.push(left - 1);
        return;
      }
    }
    this.#bytes = 0;
    this.#elements = 0;
  }
}

/** -1 stands for nothing. */
function lengthOf(line: string): number {
  const text = line.slice(1);
  if (!/^(-1|\d{1,10})$/.test(text))
    throw new Error(`a length came that can't be one: ${JSON.stringify(text)}`);
  return Number(text);
}
