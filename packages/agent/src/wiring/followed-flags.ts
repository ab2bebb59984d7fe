import type { Evaluator } from "@bunting/evaluation";
import { ListFile } from "../sync/list-file.js";
import type { SourceConfig } from "../sync/source-config.js";
import { ListPlace, parseSourceList, sourceListOf } from "../sync/source-list.js";
import type { AgentWiring } from "./agent-wiring.js";
import { FlagGenerations } from "./flag-generations.js";
import { SourceFollower } from "./source-follower.js";
import type { SourceSignals } from "./stored-flags.js";

export interface FollowedFlags {
  readonly flags: FlagGenerations;
  /** Undefined if no list of sources is followed. */
  readonly follower: SourceFollower | undefined;
}

/**
 * The flags of the sources that the options name, and of those that the list names which they are of.
 *
 * @throws AgentError OPTION_INVALID
 */
export function followedFlags(
  wiring: AgentWiring,
  {
    configured,
    evaluator,
    signals,
  }: {
    readonly configured: readonly SourceConfig[];
    readonly evaluator: Evaluator;
    readonly signals: SourceSignals;
  },
): FollowedFlags {
  const { options, context } = wiring;
  const list = parseSourceList(options.sourceList);
  const place = list && ListPlace.of(configured, list);
  const common = { wiring, evaluator, signals };
  if (list === undefined || place === undefined) {
    if (list !== undefined)
      context.logger.warn(
        "--source-list has no effect: the sources in its place are not FeatureFlags of one proxy",
      );
    return {
      flags: new FlagGenerations({ ...common, configs: configured, sourceList: undefined }),
      follower: undefined,
    };
  }
  const file = new ListFile(options.cacheDir, list, context.logger);
  const stored = file.read();
  const flags: FlagGenerations = new FlagGenerations({
    ...common,
    configs: stored === undefined ? configured : place.filledWith(stored),
    sourceList: (configs) => ({
      list: sourceListOf(list, place.topicsOf(configs)),
      asking: place.asking,
      received: (message) => follower.received(message),
    }),
  });
  const follower = new SourceFollower({ list, place, generations: flags, file, context });
  return { flags, follower };
}
