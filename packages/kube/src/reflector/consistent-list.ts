import { KubeError } from "../kube-error.js";
import type { KubeClient } from "../rest/rest-client.js";
import type { KubeObject, ListPage, ResourceScope } from "../rest/resource.js";
import type { Epoch, Epochs, ReadStart } from "./epochs.js";
import type { ConsistentRead } from "./reflector-handler.js";
import { isResourceVersion } from "./resource-version.js";

export interface ListingParts {
  readonly client: KubeClient;
  readonly scope: ResourceScope;
  /** Receives the objects. */
  readonly handler: { beginRead(): ConsistentRead };
}

/** Limits of a page: as many objects as client-go asks for, or about this many bytes, by the size of the page before. */
const maxPageObjects = 500;
const pageBytes = 8 * 1024 * 1024;

/**
 * Reads a scope once, without a watch. A read of a single object costs little, and disturbs no watch of it.
 *
 * @throws KubeError
 */
export async function readConsistently(
  parts: ListingParts & { readonly epochs: Epochs },
  signal: AbortSignal,
): Promise<void> {
  const { epochs } = parts;
  const start = epochs.beginRead();
  const { into, resourceVersion } = await listInto(parts, signal);
  into.complete(resourceVersion, endRead(epochs, start, resourceVersion));
}

/** Lists a scope, in pages unless it is a single object. The caller has to complete the read: see `endRead`. */
export async function listInto(
  { client, scope, handler }: ListingParts,
  signal: AbortSignal,
): Promise<{ into: ConsistentRead; resourceVersion: string }> {
  let into = handler.beginRead();
  let limit: number | undefined = scope.name === undefined ? maxPageObjects : undefined;
  let continueToken: string | undefined;
  for (;;) {
    try {
      const read = into;
      const page = await client.readPage(
        scope,
        { limit, continue: continueToken },
        (object) => read.add(object, versionOf(object)),
        signal,
      );
      continueToken = page.continueToken;
      if (limit !== undefined) limit = pageSizeAfter(page);
      if (continueToken !== undefined) continue;
      const { resourceVersion } = page;
      if (isResourceVersion(resourceVersion)) return { into, resourceVersion };
      throw new KubeError("PROTOCOL", "the API server answered a list without a resourceVersion");
    } catch (error) {
      // The pages took longer than etcd keeps history: read once more, in one piece.
      if (continueToken === undefined || !(error instanceof KubeError) || error.code !== "EXPIRED")
        throw error;
      into = handler.beginRead();
      limit = undefined;
      continueToken = undefined;
    }
  }
}

/**
 * The epoch of a complete read.
 *
 * @throws KubeError EXPIRED if history was cut while it was under way.
 */
export function endRead(epochs: Epochs, start: ReadStart, resourceVersion: string): Epoch {
  const epoch = epochs.completeRead(start, resourceVersion);
  if (epoch !== undefined) return epoch;
  throw new KubeError("EXPIRED", "the API server's history was cut while it was read; it is read again");
}

function pageSizeAfter({ items, bytes }: ListPage): number {
  if (items === 0) return maxPageObjects;
  return Math.min(maxPageObjects, Math.max(1, Math.floor((pageBytes * items) / bytes)));
}

function versionOf({ metadata }: KubeObject): string {
  const { resourceVersion } = metadata;
  if (isResourceVersion(resourceVersion)) return resourceVersion;
  throw new KubeError("PROTOCOL", `the API server listed ${metadata.name} without a resourceVersion`);
}
