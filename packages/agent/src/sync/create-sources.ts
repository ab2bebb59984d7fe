import { aborted } from "@bunting/runtime";
import { version } from "../version.js";
import { FileSource } from "./file-source.js";
import type { SyncSource, SyncSourceOptions } from "./sync-source.js";
import type { RunWatch } from "./kubernetes/shared-cluster.js";
import { OnDemandSource } from "./on-demand-source.js";
import type { SourceConfig } from "./source-config.js";

/** Creates the sources of the configurations. They open nothing before they run. */
export function createSources(
  configs: readonly SourceConfig[],
  options: SyncSourceOptions,
): readonly SyncSource[] {
  let runWatch: RunWatch | undefined;
  return configs.map((config): SyncSource => {
    switch (config.provider) {
      case "grpc":
        return new OnDemandSource(config, options, async (parts, signal) => {
          const { GrpcSource } = await import("./grpc-source.js");
          await new GrpcSource(parts).run(signal);
        });
      case "file":
        return new OnDemandSource(config, options, (parts, signal) => new FileSource(parts).run(signal));
      case "dir":
        return new OnDemandSource(config, options, async (parts, signal) => {
          const { DirectoryFollower } = await import("./manifest/follow-directory.js");
          await new DirectoryFollower(parts).run(signal);
        });
      case "http":
        return new OnDemandSource(config, options, async (parts, signal) => {
          const { pollDocument } = await import("./http/poll-document.js");
          await pollDocument(parts, signal);
        });
      case "kubernetes":
        return new OnDemandSource(config, options, async (parts, signal) => {
          const { sharedCluster, followFeatureFlag } = await import("./kubernetes/follow-feature-flag.js");
          runWatch ??= sharedCluster(options, `bunting-agent/${version}`);
          await followFeatureFlag(parts, runWatch, signal);
        });
      case "remote":
        return new OnDemandSource(config, options, async (parts, signal) => {
          const { RemoteFollower } = await import("./remote/follow-remote.js");
          await new RemoteFollower(parts).run(signal);
        });
      case "unsupported":
        return new OnDemandSource(config, options, async ({ state }, signal) => {
          state.unusable(config.problem);
          await aborted(signal);
        });
    }
  });
}
