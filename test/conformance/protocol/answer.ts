import type { JsonValue } from "@bunting/protocol";

/** What a server said, normalised: the corpus has the answers of flagd in this form. */
export interface Answer {
  /** Why there was no answer. */
  readonly outcome?: string;
  readonly status?: number;
  /** `101` was answered, and the rest came over HTTP/2, its headers unread. */
  readonly upgraded?: true;
  readonly informational?: readonly number[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: JsonValue;
  readonly text?: string;
  readonly message?: JsonValue;
  readonly messages?: readonly JsonValue[];
  /** The messages of a stream: before the first edit, after it, after the second. */
  readonly stages?: readonly (readonly JsonValue[])[];
  readonly grpc?: { readonly code: string; readonly message?: string; readonly details?: true };
  readonly endStream?: JsonValue;
  readonly metrics?: Readonly<Record<string, MetricFamily>>;
  readonly end?: string;
  readonly leftover?: number;
}

export interface MetricFamily {
  readonly type: string;
  readonly series: Readonly<Record<string, number>> | string;
}
