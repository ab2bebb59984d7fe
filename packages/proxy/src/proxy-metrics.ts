import { serverMetrics, tlsMetrics } from "@bunting/server";
import { buildInfo, type MetricsOf, type Registry } from "@bunting/runtime";
import { accessMetrics, type AccessMetrics } from "./access/access-metrics.js";
import { serviceMetrics } from "./service/service-metrics.js";
import { backplaneMetrics, type BackplaneMetrics } from "./source/backplane/backplane-metrics.js";
import { watchMetrics } from "./source/kubernetes/watch-metrics.js";
import { remoteMetrics, type RemoteMetrics } from "./source/remote/remote-metrics.js";
import { sourceMetrics, type SourceMetrics } from "./source/source-metrics.js";
import { upstreamMetrics } from "./source/upstream/upstream-metrics.js";
import { subscriberMetrics } from "./subscriber/subscriber-metrics.js";
import { topicMetrics } from "./topic/topic-metrics.js";
import { version } from "./version.js";

/** The metrics that stages share. Called on hot paths: a call allocates nothing. */
export type ProxyMetrics = SourceMetrics &
  BackplaneMetrics &
  RemoteMetrics &
  AccessMetrics &
  MetricsOf<typeof topicMetrics> &
  MetricsOf<typeof subscriberMetrics> &
  MetricsOf<typeof serviceMetrics>;

/**
 * The metrics of all stages; docs/reference/proxy-metrics.md is rendered from what is registered here.
 *
 * @param registry where Prometheus reads them
 */
export function proxyMetrics(registry?: Registry) {
  if (registry !== undefined) buildInfo(registry, "bunting_proxy_build_info", version);
  return {
    ...topicMetrics.create(registry),
    ...subscriberMetrics.create(registry),
    ...serviceMetrics.create(registry),
    ...serverMetrics("bunting_proxy_service", "proxy").create(registry),
    tls: tlsMetrics("bunting_proxy_service").create(registry),
    ...sourceMetrics.create(registry),
    ...watchMetrics.create(registry),
    ...upstreamMetrics.create(registry),
    ...backplaneMetrics.create(registry),
    ...remoteMetrics.create(registry),
    ...accessMetrics.create(registry),
  };
}

/** Metrics that no Prometheus reads. */
export const noMetrics: ProxyMetrics = proxyMetrics();
