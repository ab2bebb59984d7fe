import { base64, storedList, type SecretContent } from "./secret-content.js";
import type { WebhookKey, WebhookKeys } from "./webhook-keys.js";

const storedKey = "keys.json";

/** The Secret that holds the keys of the webhooks' paths. */
export const webhookKeySecret: SecretContent<WebhookKey> = {
  name: "bunting-operator-webhook-keys",
  what: "the key of the webhooks",
  read: (secret) => storedList(secret, storedKey).map(keyOf),
  dataOf: (keys: WebhookKeys) => ({ [storedKey]: base64(JSON.stringify(keys)) }),
};

/** An empty key would be one that everybody knows. */
function keyOf(stored: unknown): WebhookKey {
  const { key, madeMs } = stored as Partial<WebhookKey>;
  if (typeof key !== "string" || key.length < 43 || typeof madeMs !== "number")
    throw new Error(`${storedKey} has something else than keys`);
  return stored as WebhookKey;
}
