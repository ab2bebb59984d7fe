import type { Query } from "./resource-path.js";
import type { KubeObject, ResourceScope } from "./resource.js";
import type { RestClient } from "./rest-client.js";

/**
 * Reads all objects of a scope as they were at one time, page by page; no page is kept.
 *
 * @throws KubeError EXPIRED if the pages took longer than the API server keeps history: objects were handed on by then
 */
export async function readPages(
  client: Pick<RestClient, "readPage">,
  scope: ResourceScope,
  query: Query & { readonly limit: number },
  onObject: (object: KubeObject) => void,
  signal: AbortSignal,
): Promise<void> {
  let page: string | undefined;
  do {
    page = (await client.readPage(scope, { ...query, continue: page }, onObject, signal)).continueToken;
  } while (page !== undefined);
}
