/**
 * Checks the direction of imports, but first that the check can fail: each planted violation must be reported by the rule it breaks. They are
 * planted in a copy of the sources, since tests and other checks read the tree at the same time.
 */
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { copySources } from "./copy-sources.js";

const checkout = path.dirname(import.meta.dirname);
const planted = "planted-violation";
const violations: readonly { readonly rule: string; readonly at: string; readonly code: string }[] = [
  {
    rule: "services-never-meet",
    at: "packages/agent/src",
    code: 'export * from "../../proxy/src/index.js";',
  },
  {
    rule: "http2-imports-runtime-only",
    at: "packages/http2/src",
    code: 'export * from "../../server/src/limits/peer-memory.js";',
  },
  {
    rule: "server-knows-no-calls-and-no-flags",
    at: "packages/server/src",
    code: 'export * from "../../rpc/src/index.js";',
  },
  {
    rule: "rpc-sees-the-transport-only",
    at: "packages/rpc/src/call",
    code: 'export * from "../../../http2/src/http2-session.js";',
  },
  {
    rule: "services-see-no-engine",
    at: "packages/agent/src",
    code: 'export * from "../../http2/src/index.js";',
  },
  {
    rule: "server-limits-imports-upstream-only",
    at: "packages/server/src/limits",
    code: 'export * from "../port/port-listener.js";',
  },
  {
    rule: "leaves-import-nothing-of-ours",
    at: "packages/runtime/src",
    code: 'export * from "../../rpc/src/index.js";',
  },
  {
    rule: "evaluation-imports-protocol-only",
    at: "packages/evaluation/src",
    code: 'export * from "../../runtime/src/index.js";',
  },
  {
    rule: "extension-imports-protocol-only",
    at: "packages/extension/src",
    code: 'export * from "../../runtime/src/index.js";',
  },
  {
    rule: "files-imports-leaves-only",
    at: "packages/files/src",
    code: 'export * from "../../rpc/src/index.js";',
  },
  {
    rule: "featureflags-knows-no-cluster-and-no-service",
    at: "packages/featureflags/src",
    code: 'export * from "../../kube/src/index.js";',
  },
  {
    rule: "only-checks-of-flags-evaluate",
    at: "packages/featureflags/src/manifest",
    code: 'export * from "@bunting/evaluation";',
  },
  {
    rule: "featureflags-manifest-imports-upstream-only",
    at: "packages/featureflags/src/manifest",
    code: 'export * from "../check/finding.js";',
  },
  {
    rule: "proxy-source-imports-upstream-only",
    at: "packages/proxy/src/source",
    code: 'export * from "../topic/topic.js";',
  },
  {
    rule: "agent-store-imports-upstream-only",
    at: "packages/agent/src/store",
    code: 'export * from "../api/backend.js";',
  },
  {
    rule: "only-clients-import-node-http2",
    at: "packages/proxy/src/service",
    code: 'export * from "node:http2";',
  },
  {
    rule: "evaluation-knows-no-node",
    at: "packages/evaluation/src",
    code: 'export * from "node:path";',
  },
  {
    rule: "kube-knows-no-flags",
    at: "packages/kube/src",
    code: 'export * from "../../protocol/src/index.js";',
  },
  {
    rule: "identity-imports-runtime-and-kube-only",
    at: "packages/identity/src",
    code: 'export * from "../../rpc/src/index.js";',
  },
  {
    rule: "proxy-access-imports-upstream-only",
    at: "packages/proxy/src/access",
    code: 'export * from "../subscriber/agent-stream.js";',
  },
  {
    rule: "backplane-imports-leaves-only",
    at: "packages/backplane/src",
    code: 'export * from "../../kube/src/index.js";',
  },
  {
    rule: "backplane-lease-imports-upstream-only",
    at: "packages/backplane/src/lease",
    code: 'export * from "../record/position.js";',
  },
  {
    rule: "sync-client-knows-no-service",
    at: "packages/sync-client/src",
    code: 'export * from "../../kube/src/index.js";',
  },
  {
    rule: "sync-client-http-loads-no-grpc",
    at: "packages/sync-client/src/http",
    code: 'export * from "../sync-channel.js";',
  },
  {
    rule: "jose-is-loaded-on-first-use",
    at: "packages/identity/src/token",
    code: 'export * from "jose";',
  },
  {
    rule: "only-kube-imports-client-node",
    at: "packages/proxy/src",
    code: 'export * from "../../kube/node_modules/@kubernetes/client-node/dist/index.js";',
  },
  {
    rule: "only-telemetry-imports-open-telemetry",
    at: "packages/agent/src/telemetry",
    code: 'export * from "@opentelemetry/api";',
  },
  {
    rule: "proxy-loads-grpc-js-on-first-use",
    at: "packages/proxy/src/source/upstream",
    code: 'export * from "./upstream-link.js";',
  },
  {
    rule: "proxy-loads-ioredis-on-first-use",
    at: "packages/proxy/src/source/backplane",
    code: 'export * from "./replicated-topics.js";',
  },
  {
    rule: "agent-never-reaches-client-node",
    at: "packages/agent/src/sync/kubernetes",
    code: 'export { kubeconfigConfig } from "../../../../kube/src/index.js";',
  },
  {
    rule: "agent-reaches-kube-on-first-use-only",
    at: "packages/agent/src/sync",
    code: 'export * from "../../../kube/src/pod.js";',
  },
  {
    rule: "agent-loads-chunks-on-first-use",
    at: "packages/agent/src/sync",
    code: 'export * from "./http/poll-document.js";',
  },
  {
    rule: "operator-decides-without-a-cluster",
    at: "packages/operator/src/pod",
    code: 'export * from "@bunting/kube";',
  },
  {
    rule: "operator-pod-imports-upstream-only",
    at: "packages/operator/src/pod",
    code: 'export * from "../desired/desired-object.js";',
  },
  {
    rule: "nothing-imports-the-cli",
    at: "packages/kube/src",
    code: 'export * from "../../cli/src/cli-error.js";',
  },
  {
    rule: "cli-loads-commands-on-first-use",
    at: "packages/cli/src",
    code: 'export * from "./lint/run-lint.js";',
  },
  {
    rule: "only-cli-imports-yargs",
    at: "packages/cli/src/lint",
    code: 'export * from "yargs";',
  },
  {
    rule: "cli-loads-no-logger",
    at: "packages/cli/src/lint",
    code: 'export * from "@bunting/runtime";',
  },
  { rule: "no-unresolved", at: "packages/proxy/src", code: 'export * from "@bunting/nowhere";' },
];

interface CruiseResult {
  readonly summary: {
    readonly violations: readonly { readonly from: string; readonly rule: { readonly name: string } }[];
  };
}

function cruise(...extra: readonly string[]): SpawnSyncReturns<string> {
  const bin = path.join(checkout, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs");
  const sources = readdirSync(path.join(root, "packages")).map((name) => `packages/${name}/src`);
  return spawnSync(process.execPath, [bin, ...extra, ...sources], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
}

const root = mkdtempSync(path.join(tmpdir(), "bunting-boundaries-"));
try {
  copySources(root);
  const { status, stdout: unplanted } = cruise();
  process.stdout.write(unplanted);
  if (status !== 0) process.exitCode = 1;
  for (const { at, rule, code } of violations) {
    writeFileSync(path.join(root, at, `${planted}-${rule}.ts`), `${code}\n`);
  }
  const { stdout, stderr } = cruise("--output-type", "json");
  if (stdout === "") throw new Error(stderr);
  const found = (JSON.parse(stdout) as CruiseResult).summary.violations.map(
    ({ from, rule }) => `${path.basename(from)} ${rule.name}`,
  );
  for (const { rule } of violations) {
    if (!found.includes(`${planted}-${rule}.ts ${rule}`)) {
      console.error(
        `boundaries: the planted violation of ${rule} was not reported, so the check proves nothing`,
      );
      process.exitCode = 1;
    }
  }
  console.log(`boundaries: ${violations.length} planted violations checked`);
} finally {
  rmSync(root, { recursive: true, force: true });
}
