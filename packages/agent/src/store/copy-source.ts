import type { RemoteSourceConfig, SourceConfig } from "../sync/source-config.js";
import type { CopySource } from "./last-known-good-file.js";

/** What tells the flags of a source from those of others. */
export function copySourceOf(config: SourceConfig): CopySource {
  const { provider, uri, selector } = config;
  if (config.provider !== "remote") return { provider, uri, selector };
  const { remote, path, tokenFile } = config;
  return { provider, uri, selector, also: [remote.type, remote.strategy, path, tokenFile] };
}

/** What a remote says alone: the source's own copy is of what was made of it and of the file. */
export function remoteCopySourceOf(config: RemoteSourceConfig): CopySource {
  const { uri, selector, remote, tokenFile, sourceIndex } = config;
  return { provider: `remote ${remote.type}`, uri, selector, also: [tokenFile], sourceIndex };
}
