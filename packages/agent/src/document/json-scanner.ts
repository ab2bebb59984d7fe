import { isAscii } from "node:buffer";
import { heapWeights } from "@bunting/protocol";

/** Thrown by the scanner: expected X, at which byte. Callers turn it into an AgentError with line and column. */
export class ScanError extends Error {
  override readonly name = "ScanError";
  readonly offset: number;

  constructor(message: string, offset: number, options?: ErrorOptions) {
    super(message, options);
    this.offset = offset;
  }
}

const tab = 0x09;
const newline = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

const weights = heapWeights.serving;

/** What a byte outside of strings adds to the weight, and to the depth. */
const weightOfByte = new Uint16Array(256);
weightOfByte[openBrace] = weights.object;
weightOfByte[openBracket] = weights.list;
weightOfByte[comma] = weights.item;
weightOfByte[colon] = weights.property;
const levelsOfByte = new Int8Array(256);
levelsOfByte[openBrace] = levelsOfByte[openBracket] = 1;
levelsOfByte[closeBrace] = levelsOfByte[closeBracket] = -1;

/** Members so far of each object around the one that is read, by level. Levels beyond the last share a place: no flag may have as many. */
const maxLevels = 1024;
const membersAround = new Uint32Array(maxLevels);

/** How far the scanner looks ahead for escapes and bytes beyond ASCII. */
const blockBytes = 2048;

/**
 * Finds where JSON values begin and end, in bytes, without creating them.
 *
 * It knows only strings and nesting: in JSON it finds the true end of every value, in anything else it finds some end or throws. So its
 * slices must be parsed by JSON.parse before they are trusted. On the way it counts the heap that a value would take once parsed, so that
 * a document that does not fit is refused before a single object is created from it.
 *
 * The first document is read by V8's interpreter, and a loop that runs long enough to start the optimising compiler costs the agent 4 MB
 * permanently. So the ends of strings, of which documents mostly consist, are found natively, and the remaining loops are short.
 */
export class JsonScanner {
  readonly bytes: Buffer;
  position: number;
  /** How deep objects and lists are nested in the value skipped last. */
  depth = 0;
  /** True if a string `$ref` may occur in the value skipped last (false positives possible). */
  mentionsReference = false;
  /** The heap that the values skipped since this was last set to 0 would take while it is served, in bytes. */
  weight = 0;
  /** Bytes of texts with escapes or beyond ASCII in the value that is being skipped. */
  #wideBytes = 0;
  /** The block examined last, and whether all its bytes are ASCII without escapes. */
  #plainFrom = 0;
  #plainUntil = 0;
  #isPlain = false;

  constructor(bytes: Buffer, position = 0) {
    this.bytes = bytes;
    this.position = position;
  }

  skipWhitespace(): void {
    const { bytes } = this;
    let at = this.position;
    for (;;) {
      const byte = bytes[at];
      if (byte !== space && byte !== newline && byte !== tab && byte !== carriageReturn) break;
      at++;
    }
    this.position = at;
  }

  /** Skips `text` if it is next (after white space). */
  tryTake(text: string): boolean {
    this.skipWhitespace();
    if (this.bytes[this.position] !== text.charCodeAt(0)) return false;
    this.position++;
    return true;
  }

  isAt(text: string): boolean {
    return this.bytes[this.position] === text.charCodeAt(0);
  }

  take(text: string, where: string): void {
    if (!this.tryTake(text)) throw this.unexpected(`expected "${text}" ${where}`);
  }

  /** Reads the string at the current position. */
  takeKey(): string {
    const start = this.position;
    if (this.bytes[start] !== quote) throw this.unexpected("expected a key in quotes");
    const hasEscape = this.#skipString();
    const content = this.bytes.toString("utf8", start + 1, this.position - 1);
    if (!hasEscape && !controlCharacter.test(content)) return content;
    try {
      return JSON.parse(`"${content}"`) as string;
    } catch (cause) {
      throw new ScanError(`in a key: ${(cause as Error).message}`, start, { cause });
    }
  }

  /** Skips the value at the current position. */
  skipValue(): void {
    this.depth = 0;
    this.mentionsReference = false;
    this.#wideBytes = 0;
    const first = this.bytes[this.position];
    if (first === openBrace || first === openBracket) this.#skipNested();
    else if (first === quote) this.#skipString();
    else this.#skipScalar();
  }

  unexpected(message: string): ScanError {
    const { bytes, position } = this;
    const found =
      position >= bytes.length
        ? "the document ends"
        : `there is ${JSON.stringify(bytes.toString("utf8", position, position + 12))}`;
    return new ScanError(`${message}, but ${found}`, position);
  }

  #skipNested(): void {
    const { bytes } = this;
    const { length } = bytes;
    let at = this.position;
    let depth = 0;
    let deepest = 0;
    let weight = 0;
    /** Members so far of the innermost object that is open. */
    let members = 0;
    while (at < length) {
      const byte = bytes[at] ?? 0;
      if (byte === quote) {
        this.position = at;
        this.#skipString();
        at = this.position;
        continue;
      }
      at++;
      weight += weightOfByte[byte] ?? 0;
      if (byte === colon) {
        members++;
        continue;
      }
      const levels = levelsOfByte[byte] ?? 0;
      if (levels === 0) continue;
      if (levels > 0) {
        membersAround[depth % maxLevels] = members;
        members = 0;
        if (depth >= weights.deepLevel && byte === openBracket) weight += weights.deepList;
      } else {
        if (members > weights.wideObject) weight += members * weights.wideMember;
        members = membersAround[(depth - 1) % maxLevels] ?? 0;
      }
      depth += levels;
      if (depth > deepest) deepest = depth;
      else if (depth === 0) {
        this.position = at;
        this.depth = deepest;
        this.weight += weight;
        return;
      }
    }
    this.position = at;
    throw this.unexpected(`${depth} unclosed bracket${depth === 1 ? "" : "s"}`);
  }

  /** Returns whether the string has an escape. */
  #skipString(): boolean {
    const { bytes, position } = this;
    if (position < this.#plainFrom || position >= this.#plainUntil) this.#lookAhead();
    if (!this.#isPlain) return this.#skipOddString();
    const end = indexOf(bytes, quote, position + 1);
    if (end < 0 || end >= this.#plainUntil) return this.#skipOddString();
    const size = end - position;
    this.weight += weights.string + size * weights.textByte;
    this.mentionsReference ||= size === 5 && isReference(bytes, position + 1);
    this.position = end + 1;
    return false;
  }

  #lookAhead(): void {
    const { bytes, position } = this;
    const block = bytes.subarray(position, position + blockBytes);
    this.#plainFrom = position;
    this.#plainUntil = position + block.length;
    this.#isPlain = isAscii(block) && indexOf(block, backslash, 0) < 0;
  }

  /** Any string, byte by byte. */
  #skipOddString(): boolean {
    const { bytes, position } = this;
    const { length } = bytes;
    let at = position + 1;
    let seen = 0;
    let hasEscape = false;
    while (at < length) {
      const byte = bytes[at] ?? 0;
      if (byte === quote) {
        const size = at - position;
        this.weight +=
          weights.string + size * (seen >= 0x80 || hasEscape ? this.#perWideByte(size) : weights.textByte);
        this.mentionsReference ||= hasEscape || (size === 5 && isReference(bytes, position + 1));
        this.position = at + 1;
        return hasEscape;
      }
      seen |= byte;
      if (byte === backslash) {
        hasEscape = true;
        at++;
      }
      at++;
    }
    this.position = position;
    throw this.unexpected("expected a closing quote");
  }

  #perWideByte(textBytes: number): number {
    this.#wideBytes += textBytes;
    return this.#wideBytes > weights.longTextBytes ? weights.longWideByte : weights.wideByte;
  }

  #skipScalar(): void {
    const { bytes, position } = this;
    let at = position;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (byte <= space || byte === comma || byte === closeBrace || byte === closeBracket) break;
    }
    if (at === position) throw this.unexpected("expected a value");
    this.position = at;
    this.weight += weights.item;
  }
}

/** Buffer's own indexOf does the same through more layers. */
function indexOf(bytes: Buffer, byte: number, from: number): number {
  return Uint8Array.prototype.indexOf.call(bytes, byte, from);
}

/** JSON requires these to be escaped. */
const controlCharacter = /[\u0000-\u001f]/;

function isReference(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0x24 && bytes[at + 1] === 0x72 && bytes[at + 2] === 0x65 && bytes[at + 3] === 0x66;
}
