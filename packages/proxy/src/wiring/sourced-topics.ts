import { readsReaders, type CreatedAccess } from "../access/create-access.js";
import { prepareSnapshot } from "../snapshot/encode-snapshot.js";
import type { FlagSource } from "../source/flag-source.js";
import type { TierPath } from "../source/upstream/tier-path.js";
import type { LostSubscribers } from "../topic/topic-options.js";
import type { TopicRegistry } from "../topic/topic-registry.js";
import type { ProxyWiring } from "./proxy-wiring.js";

/**
 * Where flags come from.
 *
 * @throws ProxyError OPTION_INVALID if the options name no source.
 */
export function sourceOf({ options, parts, context }: ProxyWiring, tierPath: TierPath): FlagSource {
  return parts.createSource(options, {
    context,
    env: process.env,
    readsReaders: readsReaders(options),
    tierPath,
    prepare: prepareSnapshot,
  });
}

/** The topics that the source feeds, which encode snapshots and hold subscriptions. */
export function topicsOf(
  { options, parts, context }: ProxyWiring,
  source: FlagSource,
  lost: LostSubscribers,
): TopicRegistry {
  return new parts.TopicRegistry({
    source,
    lost,
    context,
    quota: new parts.TopicQuota({
      perConnection: options.maxTopicsPerConnection,
      perAddress: options.maxTopicsPerAddress,
      metrics: context.metrics,
      log: context.log,
    }),
    lingerMs: options.topicLinger,
    missingPolicy: options.missingPolicy,
    deletionGraceMs: options.deletionGrace,
    deletionPolicy: options.deletionPolicy,
  });
}

export function accessOf(
  { options, parts, context }: ProxyWiring,
  source: FlagSource,
  topics: TopicRegistry,
): CreatedAccess {
  return parts.createAccess(options, {
    context,
    env: process.env,
    readersOf: (topic) => topics.readersOf(topic, source.readersOf?.(topic)),
  });
}
