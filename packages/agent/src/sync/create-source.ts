import { FileSource } from "./file-source.js";
import type { FlagSource, SourceOptions } from "./flag-source.js";
import { GrpcSource } from "./grpc-source.js";
import { OnDemandSource } from "./on-demand-source.js";
import type { SourceConfig } from "./source-config.js";
import { UnsupportedSource } from "./unsupported-source.js";

/** Creates the source of a configuration. It opens nothing before it runs. */
export function createSource(config: SourceConfig, options: SourceOptions): FlagSource {
  switch (config.provider) {
    case "grpc":
      return new GrpcSource(config, options);
    case "file":
      return new FileSource(config, options);
    case "http":
      return new OnDemandSource(config, options, async (parts, signal) => {
        const { pollDocument } = await import("./http/poll-document.js");
        await pollDocument(parts, signal);
      });
    case "kubernetes":
      return new UnsupportedSource(
        { ...config, provider: "unsupported", problem: "provider kubernetes is not supported yet" },
        options,
      );
    case "unsupported":
      return new UnsupportedSource(config, options);
  }
}
