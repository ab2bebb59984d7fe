import assert from "node:assert/strict";
import { after, test } from "node:test";
import { askExtension, checkConformance, serveExtension } from "@bunting/extension";
import { lint, preCreate } from "./hooks.ts";

const stop = new AbortController();
const { url } = await serveExtension(
  { preCreate, lint },
  { port: 0, host: "127.0.0.1", signal: stop.signal },
);
after(() => stop.abort());

const namespace = { name: "shop", labels: { team: "checkout" }, annotations: {} };

test("it keeps to the protocol", async () => {
  for await (const { outcome, target, message } of checkConformance(url, { namespace }))
    assert.equal(outcome, "passed", `${target}: ${message}`);
});

test("it annotates Pods with their team, and refuses those of none", async () => {
  const object = {
    apiVersion: "bunting.dev/v1alpha1",
    kind: "Sidecar",
    metadata: { name: "flags", namespace: "shop" },
  };
  const asked = {
    uid: "1",
    hook: "pre-create",
    target: "Sidecar",
    operation: "CREATE",
    dryRun: false,
    namespace,
    object,
  };
  const { object: answered } = await askExtension(url, asked);
  assert.deepEqual(answered.metadata.annotations, { "example.com/team": "checkout" });
  const refused = await askExtension(url, { ...asked, namespace: { ...namespace, labels: {} } });
  assert.equal(refused.reason, "the namespace shop has no team: give it the label team");
});
