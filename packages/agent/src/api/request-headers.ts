/** Request headers, by lower-case name; the first value where there are several. */
export interface RequestHeaders {
  header(name: string): string | undefined;
}

const notAscii = /[\x80-\xff]/;

/** A header's value as text. Node reads the bytes of headers as Latin-1; clients mean UTF-8, which Go takes them for. */
export function textHeader(headers: RequestHeaders, name: string): string | undefined {
  const value = headers.header(name);
  return value === undefined || !notAscii.test(value) ? value : Buffer.from(value, "latin1").toString();
}
