export interface EventStreamsOptions {
  /** `--ofrep-sse-inactivity-delay`, in seconds. */
  readonly inactivityDelaySec: number;
  /** `--ofrep-sse-public-url`; if empty, clients connect where they ask for their flags. */
  readonly publicUrl: string;
}

export const ssePath = "/ofrep/v1/sse";

/** The member `eventStreams` of an answer for all flags of a selector, with the comma before it. */
export function eventStreamsMember(selector: string, options: EventStreamsOptions): string {
  const { inactivityDelaySec, publicUrl } = options;
  // A browser's EventSource sends no headers of its own.
  const requestUri = selector === "" ? ssePath : `${ssePath}?selector=${encodeURIComponent(selector)}`;
  const place =
    publicUrl === ""
      ? { endpoint: { requestUri } }
      : { url: `${publicUrl.replace(/\/+$/, "")}${requestUri}` };
  return `,"eventStreams":${JSON.stringify([{ type: "sse", ...place, inactivityDelaySec }])}`;
}
