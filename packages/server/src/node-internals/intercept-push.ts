import type { Readable } from "node:stream";

/**
 * Has a function see each piece of a stream before the stream gets it, and the end as null. Not by listening to `data`, which would read from
 * streams that nobody reads, or that are held back.
 *
 * @param onPiece returns what `push` does: false if the source is to wait. It passes on by `push` what the stream shall have.
 */
export function interceptPush(
  stream: Readable,
  onPiece: (piece: Buffer | null, push: (piece: Buffer | null) => boolean) => boolean,
): void {
  const push = stream.push.bind(stream) as (piece: Buffer | null) => boolean;
  stream.push = (piece: Buffer | null): boolean => onPiece(piece, push);
}
