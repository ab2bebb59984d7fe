/** What the application got for one question. */
export interface Answer {
  readonly value?: unknown;
  readonly errorCode?: string;
  readonly errorMessage?: string;
}

/** What the application got since it was asked to follow a flag. */
export interface Followed {
  asked: number;
  readonly failures: string[];
  /** In the order in which they came, each of the ways in turn; equal ones in a row are named once. */
  readonly values: unknown[];
}
