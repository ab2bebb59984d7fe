import { isAscii } from "node:buffer";
import { maxDocumentDepth } from "./document-depth.js";
import { heapWeights } from "./heap-weights.js";
import { ProtocolError } from "./protocol-error.js";

const weights = heapWeights.encoding;

/** A document is an object, with "flags" or "$evaluators" in it, which are nested in turn. */
const levelsAround = 2;
/** Of the colons after keys of flags, within `{"flags":{`. */
const flagDepth = 2;
/** The least byte of UTF-8 that begins a character beyond Latin-1. */
const wideByte = 0xc4;

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Heap that it takes to read a flag document and to encode it, in bytes, by the weights of `encoding`. Computed without making anything of it:
 * JSON.parse makes 20 bytes of one byte, and V8 ends a process whose heap is full. Nor does JSON.parse mind how deep values are nested, for which
 * it takes memory beside the heap.
 *
 * @param levels how many levels deep objects and lists may be nested; default: those of a document
 * @throws ProtocolError DOCUMENT_INVALID if they are nested deeper
 */
export function documentHeapBytes(json: Uint8Array, levels = maxDocumentDepth + levelsAround): number {
  let [objects, lists, items, keys, flags, depth] = [0, 0, 0, 0, 0, 0];
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case quote:
        at = endOfString(json, at);
        items++;
        break;
      case openBracket:
        lists++;
        if (++depth > levels) throw tooDeep(levels);
        break;
      case openBrace:
        objects++;
        if (++depth > levels) throw tooDeep(levels);
        break;
      case closeBracket:
      case closeBrace:
        depth--;
        break;
      case colon:
        if (depth === flagDepth) flags++;
        keys++;
        break;
      case comma:
        items++;
    }
  }
  const perByte = isWide(json) ? weights.wideByte : weights.byte;
  const parts = objects * weights.object + lists * weights.list + items * weights.item;
  return json.length * perByte + parts + keys * weights.property + flags * weights.flag;
}

function tooDeep(levels: number): ProtocolError {
  return new ProtocolError("DOCUMENT_INVALID", `it is nested more than ${levels} levels deep`);
}

function isWide(json: Uint8Array): boolean {
  if (isAscii(json)) return false;
  for (const byte of json) if (byte >= wideByte) return true;
  return false;
}

function endOfString(json: Uint8Array, start: number): number {
  let at = start + 1;
  for (; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) break;
    if (byte === backslash) at++;
  }
  return at;
}
