import type { ListenEndpoint } from "./listen-endpoint.js";

/** What a port listens on, and the option that says so. */
export interface OptionEndpoint {
  readonly endpoint: ListenEndpoint;
  readonly optionName: string;
}

/**
 * A sentence about the first two endpoints that are the same, with what to do; undefined if all differ. The second of them could not be listened
 * on, and the system would say only that another process has it.
 */
export function sameEndpoint(endpoints: readonly OptionEndpoint[]): string | undefined {
  const seen = new Map<string | number, string>();
  for (const { endpoint, optionName } of endpoints) {
    const place = "socketPath" in endpoint ? endpoint.socketPath : endpoint.port;
    const other = seen.get(place);
    if (other !== undefined) {
      const kind = typeof place === "number" ? "port" : "path";
      return `${other} and ${optionName} are both ${place}: choose another ${kind} with one of them`;
    }
    // Each gets a free port of its own.
    if (place !== 0) seen.set(place, optionName);
  }
  return undefined;
}
