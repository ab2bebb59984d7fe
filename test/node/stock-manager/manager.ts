#!/bin/node
/**
 * Stands in for the manager of the open-feature-operator, which can't be built here: the module of its types can't be fetched. It does what that was recorded and
 * read to do, with its arguments, variables, rights, ports and Lease: it deploys the proxy, and injects Pods. Of what it makes, all is recorded
 * (test/fixtures/stock-operator).
 */
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { ask } from "./cluster-api.js";
import { injectPod, type AdmissionRequest } from "./inject-pod.js";
import { leadWithLease } from "./lease.js";
import { deployProxy } from "./proxy.js";
import { namespace } from "./settings.js";

const certificates = "/tmp/k8s-webhook-server/serving-certs";
const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;

function webhookServer(): Server {
  const pair = {
    cert: readFileSync(`${certificates}/tls.crt`),
    key: readFileSync(`${certificates}/tls.key`),
  };
  return createServer(pair, (request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => (text += part));
    request.on("end", () => {
      answer(request.url ?? "", (JSON.parse(text) as { readonly request: AdmissionRequest }).request).then(
        (body) => response.setHeader("content-type", "application/json").end(JSON.stringify(body)),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  });
}

async function answer(url: string, request: AdmissionRequest): Promise<object> {
  const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
  // That of FeatureFlags, whose rules are none of what is tried here.
  if (!url.startsWith("/mutate-v1-pod")) return { ...review, response: { uid: request.uid, allowed: true } };
  const result = await injectPod(request);
  if (typeof result === "string")
    return { ...review, response: { uid: request.uid, allowed: false, status: { message: result } } };
  const patch = Buffer.from(JSON.stringify(result)).toString("base64");
  return { ...review, response: { uid: request.uid, allowed: true, patchType: "JSONPatch", patch } };
}

/** Each FeatureFlagSource has the proxy deployed, again when it has changed. */
async function reconcile(): Promise<void> {
  const done = new Set<string>();
  for (;;) {
    try {
      const { items = [] } =
        (await ask("GET", "/apis/core.openfeature.dev/v1beta1/featureflagsources")) ?? {};
      for (const { metadata } of items) {
        const key = `${metadata.uid ?? ""} ${metadata.generation ?? 0}`;
        if (done.has(key)) continue;
        await deployProxy();
        done.add(key);
        console.log(`deployed the proxy for ${metadata.namespace ?? ""}/${metadata.name}`);
      }
    } catch (error) {
      console.log(String(error));
    }
    await delay(1_000);
  }
}

createHttpServer((_request, response) => response.end("ok")).listen(8081);
webhookServer().listen(9443);
process.on("SIGTERM", () => process.exit(0));
leadWithLease(leases, "131bf64c.openfeature.dev", () => void reconcile()).catch((error: unknown) => {
  console.log(String(error));
  process.exit(1);
});
