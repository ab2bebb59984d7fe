/**
 * All that a peer sends, such as the body of an answer over HTTP; undefined if that is more than `maxBytes`: then the stream is ended. Rejects if the stream breaks
 * off.
 */
export async function boundedBytes(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
