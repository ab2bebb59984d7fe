import { createSources } from "./create-sources.js";
import type { SourceConfig } from "./source-config.js";
import type { SyncSource, SyncSourceOptions } from "./sync-source.js";

/** The source of a single configuration. */
export function createSyncSource(config: SourceConfig, options: SyncSourceOptions): SyncSource {
  const [source] = createSources([config], options);
  if (source === undefined) throw new Error("there is one source for each configuration");
  return source;
}
