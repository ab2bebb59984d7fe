import { KubeError } from "@bunting/kube";
import { featureFlagType } from "@bunting/protocol";
import { isAborted } from "@bunting/runtime";
import { ClaimedReads, perKeyMs } from "../claimed-reads.js";
import type { FlagRecord } from "./flag-record.js";
import { beginRecordRead } from "./record-read.js";
import type { RecordIndex } from "./record-index.js";
import type { WatchShared } from "./scope-watch.js";
import { partsOfKey } from "./watch-key.js";

/** The shortest time between two reads of any FeatureFlags. */
const perReadMs = 250;
const afterFailureMs = 5_000;
/** Time-out of a read: an answer that drips in must not block other reads. */
const longestReadMs = 30_000;

/**
 * Reads single FeatureFlags again because agents claim to have newer versions. Each read is a LIST of one object; watches are not disturbed.
 * A claim is to be ended by its owner, because a watch may read the FeatureFlag first.
 */
export function createRefreshes(shared: WatchShared, records: RecordIndex): ClaimedReads<FlagRecord> {
  const { watches } = shared;
  const { clock, logger } = shared.context;
  const epochs = watches.epochsOf(featureFlagType);
  return new ClaimedReads({
    clock,
    perReadMs,
    afterFailureMs,
    restMs: ({ lastReadMs = -Infinity }) => lastReadMs + perKeyMs - clock.monotonicMs(),
    read: async (record, abort) => {
      const audience = records.audience(record.topic);
      const scope = { type: featureFlagType, ...partsOfKey(record.topic) };
      let cancelDeadline = (): void => undefined;
      const handler = {
        beginRead: () => {
          cancelDeadline = clock.after(longestReadMs, () => abort.abort());
          return beginRecordRead({ audience, epochs, clock });
        },
      };
      try {
        await watches.read({ scope, handler, request: record }, abort.signal);
        return true;
      } catch (error) {
        const level = error instanceof KubeError || isAborted(abort.signal) ? "debug" : "error";
        logger[level]({ error, topic: record.topic }, "reading a FeatureFlag failed");
        return false;
      } finally {
        cancelDeadline();
      }
    },
  });
}
