import type { IncomingMessage } from "node:http";

/** What node holds for each name and each value apart from its characters: a string, and places in two objects. */
const textBytes = 64;
/** The head of an ordinary request, which what a connection is charged for anyway covers. */
const ordinaryBytes = 4 * 1024;

/** What the head of a request takes as long as the request lives, beyond what that of an ordinary one does, in bytes. */
export function headSurplusBytes({ url = "", rawHeaders }: IncomingMessage): number {
  let bytes = url.length;
  for (const text of rawHeaders) bytes += textBytes + text.length;
  return Math.max(0, bytes - ordinaryBytes);
}
