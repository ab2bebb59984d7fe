import { Counter, Gauge, Histogram, type Registry } from "@bunting/runtime";
import type { BackplaneMetrics, BackplaneReport } from "../source/backplane/backplane-metrics.js";

export interface ReadableBackplaneMetrics extends BackplaneMetrics {
  /** What this replica is now; undefined for a proxy alone. */
  readBackplane(): BackplaneReport | undefined;
}

/** The metrics of replicas that share a Redis; all zero for a proxy alone. */
export function backplaneMetrics(registry: Registry): ReadableBackplaneMetrics {
  const registers = [registry];
  let read: () => BackplaneReport | undefined = () => undefined;
  const states = ["connected", "degraded", "recovering"] as const;
  const state = new Gauge({
    name: "bunting_proxy_backplane_state",
    help: "1 for the state that the replica is in, 0 for the others: connected follows other replicas by way of Redis; degraded watches for itself, because Redis is away or refuses to work; recovering does so still, because Redis works again only since lately.",
    labelNames: ["state"],
    registers,
  });
  for (const one of states) state.set({ state: one }, 0);
  new Gauge({
    name: "bunting_proxy_backplane_replicas",
    help: "Live replicas that share the Redis, this one included; 0 if Redis has not told lately.",
    registers,
    collect() {
      this.set(read()?.replicas?.length ?? 0);
    },
  });
  new Gauge({
    name: "bunting_proxy_backplane_owned_units",
    help: "Namespaces (or the cluster, with --watch-scope=cluster) that this replica watches for all replicas.",
    registers,
    collect() {
      this.set(read()?.owned.length ?? 0);
    },
  });
  new Gauge({
    name: "bunting_proxy_backplane_topics",
    help: "Topics by what this replica does: follow one that another replica owns, watch one directly although it does not own it, or watch one for other replicas only.",
    labelNames: ["role"],
    registers,
    collect() {
      const report = read();
      this.set({ role: "followed" }, report?.followed ?? 0);
      this.set({ role: "direct" }, report?.direct ?? 0);
      this.set({ role: "for_others" }, report?.forOthers ?? 0);
    },
  });
  new Gauge({
    name: "bunting_proxy_backplane_lease_age_seconds",
    help: "Age of the oldest renewal among the leases that this replica holds, in seconds; 0 without leases. Near --backplane-lease, Redis does not answer, and others are about to take over.",
    registers,
    collect() {
      const ages = read()?.owned.map(({ renewedAgoMs }) => renewedAgoMs) ?? [];
      this.set(Math.max(0, ...ages) / 1_000);
    },
  });
  const lag = new Histogram({
    name: "bunting_proxy_backplane_lag_seconds",
    help: "How much later than the owner wrote it an edit was known to this replica, in seconds, by the clock of Redis.",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 15],
    registers,
  });
  const leases = new Counter({
    name: "bunting_proxy_backplane_leases_total",
    help: "Leases taken, lost, handed_over to the replica that should have them, or given_up because nothing could be read.",
    labelNames: ["event"],
    registers,
  });
  const written = new Counter({
    name: "bunting_proxy_backplane_records_total",
    help: "Records that this replica wrote to Redis (write), or told to be unchanged (confirm).",
    labelNames: ["kind"],
    registers,
  });
  const failed = new Counter({
    name: "bunting_proxy_backplane_write_failures_total",
    help: "Writes that Redis refused or did not answer, by code; fenced are those under a lease that had ended.",
    labelNames: ["code"],
    registers,
  });
  const refused = new Counter({
    name: "bunting_proxy_backplane_refused_records_total",
    help: "Records in Redis that can't be read, or are not signed with a key in use, by code.",
    labelNames: ["code"],
    registers,
  });
  return {
    backplaneState: (current) => {
      for (const one of states) state.set({ state: one }, one === current ? 1 : 0);
    },
    backplaneLease: (event) => leases.inc({ event }),
    backplaneWritten: (kind, records) => written.inc({ kind }, records),
    backplaneWriteFailed: (code) => failed.inc({ code: code.toLowerCase() }),
    backplaneRecordRefused: (code) => refused.inc({ code: code.toLowerCase() }),
    backplaneLag: (lagMs) => lag.observe(lagMs / 1_000),
    backplaneReport: (report) => {
      read = report;
    },
    readBackplane: () => read(),
  };
}
