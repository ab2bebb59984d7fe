import type { TopicKey } from "@bunting/protocol";
import type { StartQueue } from "@bunting/rpc";
import type { ServingContext } from "@bunting/runtime";
import type { Access } from "../access/access.js";
import type { ProxyMetrics } from "../proxy-metrics.js";
import type { FlagSource } from "../source/flag-source.js";
import type { LeftBehind } from "../subscriber/left-behind.js";
import type { TopicRegistry } from "../topic/topic-registry.js";

/** What the services of all protocols need to subscribe their callers to topics. */
export interface Subscribing {
  readonly topics: TopicRegistry;
  /** Throws a ProtocolError that names the expected form. */
  readonly parseSelector: (selector: string) => TopicKey;
  readonly context: Omit<ServingContext<ProxyMetrics>, "logger">;
  readonly startQueue?: StartQueue | undefined;
  /** Remembers who leaves without the newest version; each service for itself if not given. */
  readonly leftBehind?: LeftBehind | undefined;
  /** Everyone may read everything if not given. */
  readonly access?: Access;
  /** No agent is told what its sources have, if not given. */
  readonly followList?: FlagSource["followList"];
}
