import { readDocuments, type InputDocument } from "../input/read-documents.js";
import type { ConnectionOptions } from "../sync/connection-options.js";
import { parseProxyUrl } from "../sync/server-address.js";
import type { Io } from "../terminal/io.js";

/** One side of a comparison: a file, a directory, the standard input, or a topic of a proxy. */
export async function readSide(
  word: string,
  options: ConnectionOptions & { readonly timeout: number },
  io: Io,
): Promise<readonly Pick<InputDocument, "topic" | "document">[]> {
  const url = parseProxyUrl(word);
  if (url === undefined) return readDocuments(word, io);
  const { address, topic } = url;
  // Most comparisons are of files.
  const [{ fetchTopic }, { serverAt }] = await Promise.all([
    import("../sync/fetch-topic.js"),
    import("../sync/server.js"),
  ]);
  const { document } = await fetchTopic(serverAt(address, options), topic, options.timeout, io.signal);
  return [{ topic, document }];
}
