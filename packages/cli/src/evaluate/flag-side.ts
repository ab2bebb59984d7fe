import { cut } from "@bunting/runtime/options";
import { parseRemoteFlagProvider, type RemoteFlagProvider } from "@bunting/featureflags/resources";
import { asAgentStatus, asProxyStatus } from "../status/proxy-status.js";
import { printableLine } from "../terminal/escaped-controls.js";
import type { FoundFlag } from "./find-flag.js";

/** The side that a flag is of: the FeatureFlag itself, or the remote that it names. */
export interface FlagSide {
  /** Undefined if it can't be told. */
  readonly name: "local" | "remote" | undefined;
  /** Why, and what that means, as a sentence. */
  readonly message: string;
}

/** What `/status` cuts names to, and how many it has at most. */
const maxNameCharacters = 100;
const maxNames = 1_000;

/** What a proxy would make of a flag of a file, which never asks a remote itself. */
export function sideInFile({ provider: written }: Pick<FoundFlag, "provider">): FlagSide {
  if (written === undefined) return local("the flag is of the file, which names no remote for it");
  const parsed = parseRemoteFlagProvider(written);
  if ("problems" in parsed)
    return local(
      "the flag is of the FeatureFlag itself: the remote that it names can't be used (bunting lint says why)",
    );
  return local(`the flag is of the FeatureFlag itself; ${withRemote(parsed.provider)}`);
}

function withRemote({ uri, strategy }: RemoteFlagProvider): string {
  switch (strategy) {
    case "merge":
      return `a proxy serves it whatever the remote ${uri} says, by the strategy merge`;
    case "override":
      return `a proxy serves that of the remote ${uri} instead, if the remote has one of this key, by the strategy override`;
    case "replace":
      return `a proxy serves it only until the remote ${uri} has answered, by the strategy replace`;
  }
}

export function sideAtProxy(status: object, topic: string, key: string): FlagSide {
  const found = asProxyStatus(status).topics.find((one) => one.topic === topic);
  if (found === undefined)
    return unknownSide(`the status of the proxy does not have the FeatureFlag ${topic}`);
  const { remote } = found;
  if (remote === undefined) return local("the flag is of the FeatureFlag itself, which names no remote");
  const { state, message, flags, remoteFlags } = remote;
  const how = `${state === undefined ? "" : ` (${state})`}${message === undefined ? "" : `: ${message}`}`;
  if (remoteFlags.includes(printableLine(cut(key, maxNameCharacters))))
    return { name: "remote", message: `the flag is of the remote${how}` };
  if (flags === undefined)
    return local(`the flag is of the FeatureFlag itself, as all are: nothing is known of the remote${how}`);
  if (remoteFlags.length >= maxNames)
    return unknownSide(`the status of the proxy names ${maxNames} flags of the remote, and has more`);
  return local(`the flag is of the FeatureFlag itself, and not of the remote${how}`);
}

/** What an agent says of the flag in its status, which tells of the remotes that it reads itself. */
export function sideAtAgent(status: object, key: string): FlagSide {
  const name = printableLine(cut(key, maxNameCharacters));
  const { sources } = asAgentStatus(status);
  const remotes = sources.flatMap(({ source = 0, remote }) =>
    remote === undefined ? [] : [{ source, remote }],
  );
  if (remotes.length === 0) return sideWithoutRemotes(sources, name);
  // The later source wins.
  const found = remotes.findLast(({ remote }) => remote.remoteFlags.includes(name));
  if (found !== undefined) {
    const { source, remote } = found;
    return {
      name: "remote",
      message: `the flag is of the remote of source ${source} (${remote.state ?? "?"})`,
    };
  }
  if (remotes.some(({ remote }) => remote.remoteFlags.length >= maxNames))
    return unknownSide(`the status of the agent names ${maxNames} flags of a remote, and has more`);
  return local("the flag is of no remote of the agent's sources");
}

/** A proxy may read a remote for the agent; files and HTTP servers have none. */
function sideWithoutRemotes(sources: ReturnType<typeof asAgentStatus>["sources"], key: string): FlagSide {
  const none = "no source of the agent has a remote";
  const proxy = sources.find(({ protocol, selector }) => protocol !== undefined && selector !== undefined);
  if (proxy !== undefined)
    return unknownSide(
      `${none}, but its proxy may read one: bunting eval proxy://${proxy.uri}/${proxy.selector} ${key} --explain`,
    );
  if (sources.every(({ state, protocol }) => state === "connected" && protocol === undefined))
    return local(`the flag is of a source of the agent itself: ${none}, and none is a proxy`);
  return unknownSide(`${none}; ask its proxy, which may read one`);
}

export function unknownSide(why: string): FlagSide {
  return { name: undefined, message: `the side of the flag is not known: ${why}` };
}

function local(message: string): FlagSide {
  return { name: "local", message };
}
