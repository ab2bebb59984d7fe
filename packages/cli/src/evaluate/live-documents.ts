import type { InputDocument } from "../input/read-documents.js";
import { fetchTopic } from "../sync/fetch-topic.js";
import { addressText, type ProxyTopic } from "../sync/server-address.js";
import { serverAt } from "../sync/server.js";
import type { EvalOptions } from "./eval-options.js";

/** A document, and the digest by which proxy and agents know it, if the server says it. */
export interface LiveDocument extends InputDocument {
  readonly digest?: string;
}

/**
 * The flags that a proxy serves of a FeatureFlag now.
 *
 * @throws CliError
 */
export async function documentOfProxy(
  { address, topic }: ProxyTopic,
  options: EvalOptions,
  signal: AbortSignal,
): Promise<LiveDocument> {
  const { document, digest } = await fetchTopic(serverAt(address, options), topic, options.timeout, signal);
  const server = `proxy ${addressText(address)}`;
  // As bunting status writes digests.
  const place = digest === undefined ? server : `${server}, digest ${digest.slice(0, 8)}`;
  return { topic, document, place, ...(digest === undefined ? {} : { digest }) };
}
