import type { PeerMemory } from "@bunting/rpc";
import { Gauge, type Registry } from "@bunting/runtime";

export interface PeerMemoryMetrics {
  /** Reports this ledger from now on. */
  peerMemory(memory: Pick<PeerMemory, "bytes" | "budgetBytes">): void;
}

/** The metrics of what applications make this process hold. */
export function peerMemoryMetrics(registry: Registry): PeerMemoryMetrics {
  const registers = [registry];
  let ledger: Pick<PeerMemory, "bytes" | "budgetBytes"> = { bytes: 0, budgetBytes: 0 };
  new Gauge({
    name: "bunting_agent_api_peer_memory_bytes",
    help: "Memory that applications make the agent hold, as far as it is charged to their connections.",
    registers,
    collect() {
      this.set(ledger.bytes);
    },
  });
  new Gauge({
    name: "bunting_agent_api_peer_memory_budget_bytes",
    help: "How much of it they may make the agent hold (--peer-memory).",
    registers,
    collect() {
      this.set(ledger.budgetBytes);
    },
  });
  return {
    peerMemory: (memory) => {
      ledger = memory;
    },
  };
}
