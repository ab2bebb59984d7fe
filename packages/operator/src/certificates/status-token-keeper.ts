import { randomBytes } from "node:crypto";
import { SecretKeeper, type SecretKeeperOptions } from "./secret-keeper.js";
import { statusTokenSecret } from "./status-token-secret.js";

/** Makes the token for the status of the proxy where there is none: whoever wants another deletes the Secret. Only the leader may run it. */
export function statusTokenKeeper(
  options: Pick<SecretKeeperOptions<string>, "client" | "namespace" | "context">,
): SecretKeeper<string> {
  return new SecretKeeper({
    ...options,
    content: statusTokenSecret,
    rules: {
      next: (stored) =>
        stored === undefined || stored.length === 0 ? [randomBytes(32).toString("base64url")] : stored,
      dueMs: () => Infinity,
      describe: () => ({}),
    },
  });
}
