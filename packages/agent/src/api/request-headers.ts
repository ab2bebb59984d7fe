/** Request headers, by lower-case name; the first value where there are several. */
export interface RequestHeaders {
  header(name: string): string | undefined;
}
