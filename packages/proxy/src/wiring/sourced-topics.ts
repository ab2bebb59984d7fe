import { readsReaders, type CreatedAccess } from "../access/create-access.js";
import { prepareSnapshot } from "../snapshot/encode-snapshot.js";
import type { FlagSource } from "../source/flag-source.js";
import type { TierPath } from "../source/upstream/tier-path.js";
import type { TopicRegistry } from "../topic/topic-registry.js";
import type { ProxyWiring } from "./proxy-parts.js";

/**
 * Where flags come from.
 *
 * @throws ProxyError OPTION_INVALID if the options name no source.
 */
export function sourceOf(
  { options, parts, clock, logger, metrics }: ProxyWiring,
  tierPath: TierPath,
): FlagSource {
  return parts.createSource(options, {
    clock,
    logger,
    metrics,
    env: process.env,
    readsReaders: readsReaders(options),
    tierPath,
    prepare: prepareSnapshot,
  });
}

/** The topics that the source feeds, which encode snapshots and hold subscriptions. */
export function topicsOf(
  { options, parts, clock, logger, log, metrics }: ProxyWiring,
  source: FlagSource,
): TopicRegistry {
  return new parts.TopicRegistry({
    source,
    clock,
    logger,
    metrics,
    quota: new parts.TopicQuota({
      perConnection: options.maxTopicsPerConnection,
      perAddress: options.maxTopicsPerAddress,
      metrics,
      log,
    }),
    lingerMs: options.topicLinger,
    missingPolicy: options.missingPolicy,
    deletionGraceMs: options.deletionGrace,
    deletionPolicy: options.deletionPolicy,
  });
}

/** Access to the topics. */
export function accessOf(
  { options, parts, clock, logger, log, metrics }: ProxyWiring,
  source: FlagSource,
): CreatedAccess {
  return parts.createAccess(options, {
    clock,
    logger,
    log,
    metrics,
    env: process.env,
    readersOf: (topic) => source.readersOf?.(topic),
  });
}
