import type { Clock, Logger } from "@bunting/runtime";
import { DirectorySource } from "./directory/directory-source.js";
import { FileSource } from "./directory/file-source.js";
import type { FlagSource } from "./flag-source.js";
import { parseSourceOption } from "./parse-source-option.js";
import { RoutedSource } from "./routed-source.js";
import type { SourceMetrics } from "./source-metrics.js";

/**
 * Makes the source that the options name.
 *
 * @throws ProxyError OPTION_INVALID if they name none.
 */
export function createSource(
  options: { readonly source: string; readonly allowFileSelectors: boolean },
  parts: { readonly clock: Clock; readonly logger: Logger; readonly metrics: SourceMetrics },
): FlagSource {
  const { path } = parseSourceOption(options.source);
  const source = new DirectorySource({ ...parts, path });
  return options.allowFileSelectors ? new RoutedSource(source, new FileSource(parts)) : source;
}
