import type { IncomingMessage } from "node:http";

/** Bytes that node allocates for each name and each value besides the characters: a string, and slots in two objects. */
const textBytes = 64;
/** Bytes of the head of an ordinary request. The base charge of a connection covers them. */
const ordinaryBytes = 4 * 1024;

/** Bytes of the head of a request beyond those of an ordinary one, allocated as long as the request lives. */
export function headExcessBytes({ url = "", rawHeaders }: IncomingMessage): number {
  return Math.max(0, weighTexts(rawHeaders, url) - ordinaryBytes);
}

/** Bytes allocated for headers. */
export function weighTexts(texts: readonly string[], url: string): number {
  let bytes = url.length;
  for (const text of texts) bytes += textBytes + text.length;
  return bytes;
}
