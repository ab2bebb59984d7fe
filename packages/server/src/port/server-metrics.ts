import { Counter, Gauge, type Registry } from "@bunting/runtime";
import type { PeerMemory } from "../limits/peer-memory.js";
import { refusals, type RefusalReason } from "@bunting/http2/status";

/** Reports of the ports of a process about their limits. */
export interface ServerMetrics {
  /** Reports this ledger from now on. */
  peerMemory(memory: Pick<PeerMemory, "bytes" | "budgetBytes">): void;
  /** A request was refused, or ended early, because of a limit. */
  requestRefused(reason: RefusalReason): void;
  /** A connection was not read for the rest of a turn of the event loop, or longer. */
  readingHeld(): void;
  /** A connection has as many streams as it may have. */
  streamLimitReached(): void;
}

/** The metrics of limits, the same for every service. `prefix` is that of their names; `service` is what the help calls the process. */
export function serverMetrics(registry: Registry, prefix: string, service: string): ServerMetrics {
  const registers = [registry];
  let ledger: Pick<PeerMemory, "bytes" | "budgetBytes"> = { bytes: 0, budgetBytes: 0 };
  new Gauge({
    name: `${prefix}_peer_memory_bytes`,
    help: `Memory that clients make the ${service} hold, as far as it is charged to their connections.`,
    registers,
    collect() {
      this.set(ledger.bytes);
    },
  });
  new Gauge({
    name: `${prefix}_peer_memory_budget_bytes`,
    help: `How much memory clients may make the ${service} hold (--peer-memory).`,
    registers,
    collect() {
      this.set(ledger.budgetBytes);
    },
  });
  const refused = new Counter({
    name: `${prefix}_requests_refused_total`,
    help: `Requests refused or ended early because of a limit, by reason: ${Object.entries(refusals)
      .map(([reason, meaning]) => `${reason} (${meaning})`)
      .join(", ")}.`,
    labelNames: ["reason"],
    registers,
  });
  for (const reason of Object.keys(refusals)) refused.inc({ reason }, 0);
  // Counted here and handed over when Prometheus scrapes: all connections may be held in one turn.
  let held = 0;
  new Counter({
    name: `${prefix}_reading_held_total`,
    help: `Times that a connection was not read until a later turn of the event loop, because it or all together had made as many requests as are taken in one; none is refused for that.`,
    registers,
    collect() {
      this.reset();
      this.inc(held);
    },
  });
  const streamLimit = new Counter({
    name: `${prefix}_stream_limit_total`,
    help: `Times that a connection came to have as many streams as it may; its client's further ones wait, unseen by the ${service}.`,
    registers,
  });
  return {
    peerMemory: (memory) => {
      ledger = memory;
    },
    requestRefused: (reason) => refused.inc({ reason }),
    readingHeld: () => {
      held++;
    },
    streamLimitReached: () => streamLimit.inc(),
  };
}
