import { plainKey } from "../api/webhooks.js";
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

/** A short key could be guessed. */
function keyOf(stored: unknown): WebhookKey {
  const { key, madeMs } = stored as Partial<WebhookKey>;
  const isKey = typeof key === "string" && (key === plainKey || key.length >= 43);
  if (!isKey || typeof madeMs !== "number") throw new Error(`${storedKey} has something else than keys`);
  return stored as WebhookKey;
}
