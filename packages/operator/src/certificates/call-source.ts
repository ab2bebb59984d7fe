import type { WebhookCall } from "../desired/webhook-calls.js";
import type { SecretWatch } from "./secret-watch.js";
import type { BundleSource } from "./serving-certificates.js";
import { callingKey, type WebhookKey } from "./webhook-keys.js";

/** What API servers have to know to call the webhooks, as it is now. */
export interface CallSource {
  /** Undefined while something of it has still to be made. */
  readonly call: WebhookCall | undefined;
  onChange(listener: () => void): void;
}

/** @param source undefined: others put the bundle in */
export function callSource(
  source: BundleSource | undefined,
  keys: Pick<SecretWatch<WebhookKey>, "items" | "onChange">,
): CallSource {
  return {
    get call() {
      const key = callingKey(keys.items);
      if (key === undefined) return undefined;
      if (source === undefined) return { key };
      const { bundle } = source;
      return bundle === undefined ? undefined : { key, bundle };
    },
    onChange: (listener) => {
      source?.onChange(listener);
      keys.onChange(listener);
    },
  };
}
