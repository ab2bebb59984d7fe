import { KubeError, type RestClient } from "@bunting/kube";
import { readSmallFile } from "@bunting/runtime";

export interface PublishedKeys {
  /** The issuer, if it is published too. */
  readonly issuer: string | undefined;
  /** A JSON Web Key Set. */
  readonly keySet: unknown;
}

/** A source of keys. Its errors are sentences for the log. */
export interface KeySource {
  /** For the log: the file, or the path of the API. */
  readonly name: string;
  read(signal: AbortSignal): Promise<PublishedKeys>;
}

/** A key takes half a kilobyte. */
const maxFileBytes = 1024 * 1024;

/**
 * The keys of the cluster's ServiceAccount tokens, and their issuer, from its API server: every ServiceAccount may read them, unless the cluster
 * role system:service-account-issuer-discovery is bound to others only.
 */
export function clusterKeys(
  client: Pick<RestClient, "raw">,
  options: { readonly asksIssuer: boolean },
): KeySource {
  const get = (path: string, accept: string, signal: AbortSignal): Promise<unknown> =>
    client.raw({ method: "GET", path, accept }, signal).catch((error: unknown) => {
      if (!(error instanceof KubeError) || error.code !== "FORBIDDEN") throw error;
      const advice = "bind the cluster role system:service-account-issuer-discovery to its ServiceAccount";
      throw new Error(`the proxy may not read ${path}: ${advice}`, { cause: error });
    });
  const name = "/openid/v1/jwks";
  return {
    name,
    read: async (signal) => {
      const keySet = await get(name, "application/jwk-set+json", signal);
      if (!options.asksIssuer) return { issuer: undefined, keySet };
      const { issuer } = ((await get("/.well-known/openid-configuration", "application/json", signal)) ??
        {}) as {
        issuer?: unknown;
      };
      if (typeof issuer !== "string" || issuer === "") throw new Error("the API server names no issuer");
      return { issuer, keySet };
    },
  };
}

/** A file with a JSON Web Key Set, read again each time. */
export function fileKeys(path: string): KeySource {
  return {
    name: path,
    read: async () => {
      const text = (await readSmallFile(path, maxFileBytes)).toString();
      try {
        return { issuer: undefined, keySet: JSON.parse(text) as unknown };
      } catch (cause) {
        // Without the message, which quotes the content.
        throw new Error(text.trim() === "" ? "it is empty" : "it is not JSON", { cause });
      }
    },
  };
}
