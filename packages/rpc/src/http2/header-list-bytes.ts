/** What a header field counts beyond its name and value (RFC 9113 6.5.2). */
const fieldOverheadBytes = 32;

/** The size of a header list, as SETTINGS_MAX_HEADER_LIST_SIZE counts it. `rawHeaders` are names and values in turn. */
export function headerListBytes(rawHeaders: readonly string[]): number {
  let bytes = (rawHeaders.length / 2) * fieldOverheadBytes;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}
