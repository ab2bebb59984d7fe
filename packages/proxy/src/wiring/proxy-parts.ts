import { CallPacing, GrpcServer, ReadinessHealth, StartQueue } from "@bunting/rpc";
import { CallerTokens, PeerMemory, PortListener } from "@bunting/server";
import { managementHandler, runComponents, type ServingContext } from "@bunting/runtime";
import { createAccess } from "../access/create-access.js";
import { ProxyStatus } from "../management/proxy-status.js";
import type { ProxyOptions } from "../options.js";
import type { proxyMetrics } from "../proxy-metrics.js";
import { AgentSync } from "../service/bunting-sync-v1/agent-sync.js";
import { ConnectionAge } from "../service/connection-age.js";
import { DrainingPort } from "../service/draining-port.js";
import { FlagSync } from "../service/flag-sync.js";
import { ProxyReadiness } from "../service/proxy-readiness.js";
import { proxyTls } from "../service/proxy-tls.js";
import { allowsFileNames, createSource, topicPrefixes } from "../source/create-source.js";
import { parseSelector } from "../source/selector.js";
import { TopicQuota } from "../topic/topic-quota.js";
import { TopicRegistry } from "../topic/topic-registry.js";

/**
 * What a proxy is made of. The wiring takes its parts from here, so that its test can hand in the same parts and see what each of them is
 * given: proxy.test.ts has a row for every option.
 */
export const proxyParts = {
  createSource,
  topicPrefixes,
  allowsFileNames,
  createAccess,
  parseSelector,
  TopicQuota,
  TopicRegistry,
  StartQueue,
  AgentSync,
  FlagSync,
  ProxyReadiness,
  ReadinessHealth,
  ConnectionAge,
  proxyTls,
  PeerMemory,
  GrpcServer,
  CallPacing,
  PortListener,
  CallerTokens,
  ProxyStatus,
  managementHandler,
  DrainingPort,
  runComponents,
};

export type ProxyParts = typeof proxyParts;

/** The parts that every chapter of the wiring needs. */
export interface ProxyWiring {
  readonly options: ProxyOptions;
  readonly parts: ProxyParts;
  readonly context: ServingContext<ReturnType<typeof proxyMetrics>>;
}
