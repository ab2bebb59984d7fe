/**
 * What a proxy is made of. The wiring takes its parts from here, so that its test can hand in the same parts and see what each of them is
 * given: proxy.test.ts has a row for every option.
 */

export { CallPacing, GrpcServer, ReadinessHealth, StartQueue } from "@bunting/rpc";
export { CallerTokens, PeerMemory, PortListener } from "@bunting/server";
export { managementHandler, runComponents } from "@bunting/runtime";
export { createAccess } from "../access/create-access.js";
export { ProxyStatus } from "../management/proxy-status.js";
export { AgentSync } from "../service/bunting-sync-v1/agent-sync.js";
export { ConnectionAge } from "../service/connection-age.js";
export { DrainingPort } from "../service/draining-port.js";
export { FlagSync } from "../service/flag-sync.js";
export { ProxyReadiness } from "../service/proxy-readiness.js";
export { proxyTls } from "../service/proxy-tls.js";
export { allowsFileNames, createSource, topicPrefixes } from "../source/create-source.js";
export { parseSelector } from "../source/selector.js";
export { TopicQuota } from "../topic/topic-quota.js";
export { TopicRegistry } from "../topic/topic-registry.js";
