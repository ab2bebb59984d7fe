import { FileSource } from "./file-source.js";
import type { FlagSource, SourceOptions } from "./flag-source.js";
import { GrpcSource } from "./grpc-source.js";
import type { SourceConfig } from "./source-config.js";

/** Creates the source of a configuration. It opens nothing before it runs. */
export function createSource(config: SourceConfig, options: SourceOptions): FlagSource {
  switch (config.provider) {
    case "grpc":
      return new GrpcSource(config, options);
    case "file":
      return new FileSource(config, options);
  }
}
