import { GatheredBytes } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
/** Depth of the items: in the list, in its array. */
const itemsDepth = 2;
/** The text before the array of items. A key can't hold an unescaped quote, so no other text ends like this. */
const itemsKey = /[{,]\s*"items"\s*:\s*$/;
const maxKeyBytes = 128;

export interface ListSplitterOptions {
  readonly onItem: (json: string) => void;
  readonly maxItemBytes: number;
  /** The most bytes of the list around its items. */
  readonly maxEnvelopeBytes: number;
}

/**
 * Splits the JSON of a list into its items as it arrives, so that the list is never in memory as a whole. It looks at strings
 * and brackets only; the caller finds out by parsing whether an item is valid JSON.
 */
export class ListSplitter {
  readonly #options: ListSplitterOptions;
  /** Bytes of the item that is being read, or of the list around the items. */
  readonly #pending = new GatheredBytes();
  readonly #envelope = new GatheredBytes();
  #depth = 0;
  #isInItems = false;
  #isInString = false;
  #isEscaped = false;

  constructor(options: ListSplitterOptions) {
    this.#options = options;
  }

  /** @throws KubeError PROTOCOL if an item is no object or has too many bytes, and whatever `onItem` throws. */
  push(chunk: Buffer): void {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === backslash) this.#isEscaped = true;
        else if (byte === quote) this.#isInString = false;
        continue;
      }
      const isBetweenItems = this.#isInItems && this.#depth === itemsDepth;
      if (isBetweenItems && byte !== openBrace && byte !== closeBracket) {
        if (byte !== comma && !isSpace(byte)) throw protocolError("a list holds something that is no object");
        from = at + 1;
      } else if (byte === quote) this.#isInString = true;
      else if (byte === openBrace) {
        if (isBetweenItems) from = at;
        this.#depth++;
      } else if (byte === openBracket) {
        this.#depth++;
        if (!this.#isInItems && this.#depth === itemsDepth) {
          this.#keepEnvelope(chunk.subarray(from, at));
          from = at;
          this.#isInItems = itemsKey.test(this.#endOfEnvelope());
          if (this.#isInItems) {
            this.#keepEnvelope(chunk.subarray(at, at + 1));
            from = at + 1;
          }
        }
      } else if (byte === closeBrace || byte === closeBracket) {
        this.#depth--;
        if (isBetweenItems) {
          this.#isInItems = false;
          from = at;
        } else if (this.#isInItems && this.#depth === itemsDepth) {
          this.#endItem(chunk.subarray(from, at + 1));
          from = at + 1;
        }
      }
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  /** The list without its items. */
  end(): string {
    return this.#envelope.take().toString("utf8");
  }

  #keep(bytes: Buffer): void {
    if (!this.#isInItems) {
      this.#keepEnvelope(bytes);
      return;
    }
    const { maxItemBytes } = this.#options;
    this.#pending.push(bytes);
    if (this.#pending.length > maxItemBytes)
      throw protocolError(`a list holds an object of more than ${maxItemBytes} bytes`);
  }

  #endItem(end: Buffer): void {
    this.#keep(end);
    this.#options.onItem(this.#pending.take().toString("utf8"));
  }

  #keepEnvelope(bytes: Buffer): void {
    const { maxEnvelopeBytes } = this.#options;
    this.#envelope.push(bytes);
    if (this.#envelope.length > maxEnvelopeBytes)
      throw protocolError(`a list has more than ${maxEnvelopeBytes} bytes besides its items`);
  }

  #endOfEnvelope(): string {
    const envelope = this.#envelope.take();
    this.#envelope.push(envelope);
    return envelope.subarray(-maxKeyBytes).toString("latin1");
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function protocolError(what: string): KubeError {
  return new KubeError("PROTOCOL", `the API server answered with JSON that can't be read: ${what}`);
}
