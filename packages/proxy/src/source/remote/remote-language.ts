import { parseRemoteFlagProvider, type RemoteFlagProvider } from "@bunting/featureflags/resources";
import { AddressGuard, parseAllowedHost, type Network } from "@bunting/outbound";
import type { JsonObject } from "@bunting/protocol";
import { merging, remoteKinds, type RemoteKind, type RemoteSurroundings } from "@bunting/remote";
import { HeapRoom, type Clock } from "@bunting/runtime";

/** What the stage needs to know of remotes. */
export interface RemoteLanguage {
  readonly kinds: ReadonlyMap<string, RemoteKind>;
  /** @throws Error with a sentence for the author of the FeatureFlag */
  readonly parse: (provider: JsonObject) => RemoteFlagProvider;
  readonly merging: typeof merging;
}

/** As large as the largest documents of other sources. */
const defaultLimits: RemoteSurroundings["limits"] = { bytes: 16 * 1024 * 1024, timeoutMs: 30_000 };

export interface RemoteBounds {
  /** Public addresses that are called only where they are listed. */
  readonly networks?: readonly Network[];
  /** Of one answer; smaller in tests. */
  readonly limits?: RemoteSurroundings["limits"];
}

/**
 * The remotes that a proxy may read.
 *
 * @param remoteHosts those of --remote-hosts
 */
export function remoteLanguage(
  remoteHosts: readonly string[],
  clock: Clock,
  { networks = [], limits = defaultLimits }: RemoteBounds = {},
): RemoteLanguage {
  const hosts = remoteHosts.map(parseAllowedHost);
  const guard = new AddressGuard({ hosts, option: "--remote-hosts", networks });
  const kinds = remoteKinds({ guard, clock, limits, room: new HeapRoom(clock) });
  return {
    kinds,
    parse: (written) => {
      const parsed = parseRemoteFlagProvider(written);
      if ("problems" in parsed)
        throw new Error(
          parsed.problems
            .map(({ path, message }) => `${["spec.remoteFlagProvider", ...path].join(".")}: ${message}`)
            .join("; "),
        );
      const { type } = parsed.provider;
      if (!kinds.has(type))
        throw new Error(`spec.remoteFlagProvider.type: this proxy reads no remotes of the type ${type}`);
      return parsed.provider;
    },
    merging,
  };
}
