import type { IncomingMessage } from "node:http";

/** What node holds for each name and each value apart from its characters: a string, and places in two objects. */
const textBytes = 64;
/** The head of an ordinary request, which what a connection is charged for anyway covers. */
const ordinaryBytes = 4 * 1024;

/** What the head of a request takes as long as the request lives, beyond what that of an ordinary one does, in bytes. */
export function headSurplusBytes({ url = "", rawHeaders }: IncomingMessage): number {
  return Math.max(0, weighTexts(rawHeaders, url) - ordinaryBytes);
}

/** What headers take, in bytes. */
export function weighTexts(texts: readonly string[], url: string): number {
  let bytes = url.length;
  for (const text of texts) bytes += textBytes + text.length;
  return bytes;
}
