import { testScale, type TestScale } from "../test/support/scale.js";

/**
 * Files of tests that the gate leaves to the night, because they are dear: hundreds of connections at once, megabytes of flags, dozens of processes. Beside
 * each are tests of the gate that find the usual defects of the same mechanism, mostly smaller ones; what only the file itself finds is found by
 * `.ci/nightly`. A file that is named, as by `npm test -- FILE`, always runs.
 */
export const nightFiles: Readonly<Record<string, readonly string[]>> = {
  "packages/agent/src/sync/yaml-heap.test.ts": [
    "packages/agent/src/store/heap-budget.test.ts",
    "packages/agent/src/sync/yaml-document.test.ts",
  ],
  "packages/proxy/src/source/directory/directory-heap.test.ts": [
    "packages/agent/src/sync/yaml-document.test.ts",
    "packages/proxy/src/snapshot/encoding-heap.test.ts",
    "test/abuse/proxy-wide-documents.test.ts",
  ],
  "test/abuse/agent-bodies-at-once.test.ts": [
    "packages/server/src/http1/whole-request-server.test.ts",
    "test/abuse/agent-bodies.test.ts",
  ],
  "test/abuse/agent-connection-bursts.test.ts": ["packages/server/src/limits/read-fairness.test.ts"],
  "test/abuse/agent-event-streams.test.ts": [
    "packages/server/src/limits/peer-memory.test.ts",
    "test/abuse/agent-streams.test.ts",
  ],
  "test/abuse/agent-http2-floods.test.ts": [
    "packages/http2/src/floods.test.ts",
    "packages/http2/src/provoked-resets.test.ts",
    "test/fault/http2-abuse.test.ts",
  ],
  "test/abuse/agent-long-keys.test.ts": [
    "test/abuse/agent-long-texts.test.ts",
    "test/abuse/agent-small-pieces.test.ts",
  ],
  "test/abuse/agent-tiny-chunks.test.ts": [
    "packages/server/src/http1/body-pieces.test.ts",
    "test/abuse/agent-small-pieces.test.ts",
  ],
  "test/abuse/closed-connections.test.ts": ["test/abuse/tls-cuts.test.ts"],
  "test/abuse/idle-connections.test.ts": [
    "packages/server/src/limits/peer-memory.test.ts",
    "test/abuse/peer-memory.test.ts",
  ],
  "test/abuse/lies-of-redis.test.ts": [
    "packages/backplane/src/connection/reply-guard.test.ts",
    "test/abuse/hostile-records.test.ts",
  ],
  "test/abuse/pipelined-requests.test.ts": ["test/abuse/agent-http.test.ts"],
  "test/abuse/proxy-bursts.test.ts": [
    "packages/server/src/http1/body-pieces.test.ts",
    "test/abuse/agent-http.test.ts",
    "test/abuse/unread-bodies.test.ts",
  ],
  "test/abuse/proxy-old-versions.test.ts": [
    "test/abuse/agent-in-process-client.test.ts",
    "test/abuse/peer-memory.test.ts",
  ],
  "test/abuse/tls-memory.test.ts": ["packages/server/src/tls/tls-termination.test.ts"],
  // Reviews of tokens by an API server that lies, fails and waits.
  "test/abuse/token-reviews.test.ts": [
    "packages/identity/src/token-review/token-reviews.test.ts",
    "test/cluster/token-identity.test.ts",
  ],
  "test/abuse/topic-churn.test.ts": [
    "packages/proxy/src/topic/topic-quota.test.ts",
    "packages/proxy/src/topic/topic-registry.test.ts",
    "test/abuse/api-server-guesses.test.ts",
  ],
  // What it tests is the API server of tests: others have it killed, wiped, set back and started with other flags, too.
  "test/cluster/cluster.test.ts": ["test/cluster/flag-life.test.ts", "test/cluster/watch-recovery.test.ts"],
  "test/cluster/extension-replicas.test.ts": [
    "packages/operator/src/controllers/extensions/extension-health-controller.test.ts",
    "packages/operator/src/controllers/extensions/extension-probes.test.ts",
    "packages/operator/src/controllers/injection/injection-writer.test.ts",
    "test/cluster/extensions.test.ts",
  ],
  // Rollouts that are removed, lied about and restarted between their waves, which take their time.
  "test/cluster/flag-rollout-attacks.test.ts": [
    "packages/operator/src/controllers/push/flag-rollouts.test.ts",
    "packages/proxy/src/topic/staged-topic.test.ts",
    "test/cluster/flag-rollout.test.ts",
  ],
  "test/cluster/operator-memory.test.ts": ["test/cluster/operator-tenant.test.ts"],
  // Fetches Kubernetes and Helm of other versions. What the gate builds is of the versions that there are.
  "test/cluster/raise-versions.test.ts": ["test/cluster/flag-life.test.ts"],
  "test/cluster/replicas.test.ts": ["test/integration/proxy-replicas.test.ts"],
  "test/cluster/watch.model.test.ts": [
    "packages/proxy/src/source/kubernetes/kubernetes-source.model.test.ts",
    "test/cluster/watch-recovery.test.ts",
  ],
  // A thousand agents of three replicas, in three rollouts of several waves each.
  "test/integration/flag-rollout.test.ts": [
    "packages/operator/src/controllers/push/flag-rollouts.test.ts",
    "packages/proxy/src/topic/staged-topic.test.ts",
    "test/cluster/flag-rollout.test.ts",
  ],
  "test/integration/proxy-tiers-limits.test.ts": ["test/integration/proxy-tiers.test.ts"],
  "test/integration/remote-replicas.test.ts": [
    "packages/proxy/src/source/remote/remote-source.model.test.ts",
    "test/cluster/remote-flags.test.ts",
    "test/integration/proxy-replicas.test.ts",
  ],
  "test/node/cli-status.test.ts": [
    "test/integration/cli-connections.test.ts",
    "test/integration/proxy-status.test.ts",
  ],
  // With Docker's daemon and its Compose plugin, which takes three minutes to build.
  "test/images/docker-compose.test.ts": ["test/integration/compose-example.test.ts"],
  // Builds and pushes the images that the gate builds, and one of an extension, as the pages say it.
  "test/images/page-commands.test.ts": ["test/images/images.test.ts", "test/images/release.test.ts"],
  // The same with a kubelet and nodes that the test plays; in the second, with a real proxy and agents.
  "test/node/agent-rollout.test.ts": [
    "test/cluster/agent-rollout.test.ts",
    "test/cluster/operator-agents.test.ts",
  ],
  // The same with a kubelet that the test plays; it waits for two minutes until everybody has heard what new Pods get.
  "test/node/operator-security.test.ts": ["test/cluster/operator-security-rollout.test.ts"],
  // Most of it waits for the kubelet to bring a Secret to a running Pod.
  "test/node/source-credentials.test.ts": ["packages/agent/src/sync/http/poll-document.test.ts"],
  "test/node/migration.test.ts": ["test/cluster/operator-cli.test.ts", "test/helm/operator-install.test.ts"],
  "test/node/proxy-updates.test.ts": ["test/fault/rolling-restart.test.ts", "test/node/helm.test.ts"],
  // The gate builds the same site, and looks for its faults (npm run docs).
  "test/release/docs.test.ts": ["scripts/site/site-faults.test.ts", "test/browser/playground.test.ts"],
  // The night makes a release, too.
  "test/release/release-command.test.ts": [
    "scripts/release/checksums.test.ts",
    "scripts/release/release-notes.test.ts",
    "test/release/packages.test.ts",
  ],
};

/** Of files, those that run where none is named: at full scale all. */
export function filesOfScale(files: readonly string[], scale: TestScale = testScale): readonly string[] {
  return scale === "full" ? files : files.filter((file) => !Object.hasOwn(nightFiles, file));
}
