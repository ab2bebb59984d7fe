import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { ExtensionRequest } from "@bunting/extension";
import type { Condition } from "@bunting/kube";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import type { ApiObject } from "./support/api-client.js";
import { inParallel } from "./support/in-parallel.js";
import { metrics, OperatorHome } from "./support/operator-home.js";
import type { OperatorProcess } from "./support/operator-process.js";
import { sharedCluster } from "./support/use-cluster.js";

const seconds = 1_000;
const name = "of-replicas";
const path = `/apis/bunting.dev/v1alpha1/extensions/${name}`;
const mark = "example.com/seen";

interface StoredExtension extends ApiObject {
  readonly status?: { readonly lastError?: string; readonly conditions?: readonly Condition[] };
}

/** The webhooks are those of the replica that does not lead. */
describe("extensions of an operator with two replicas, on a real API server", function () {
  this.timeout(180 * seconds);
  const cluster = sharedCluster();
  let home: OperatorHome;
  let replicas: readonly OperatorProcess[];
  let server: Server;
  let isUp = true;
  const asked = new Set<string>();

  before(async () => {
    server = createServer((request, response) => {
      void json(request).then((body) => {
        const { hook, object } = body as ExtensionRequest;
        if (!isUp) return void response.writeHead(500).end();
        if (hook === "lint") return void response.writeHead(204).end();
        asked.add(object.metadata.name);
        const annotations = { ...(object.metadata["annotations"] as object), [mark]: "yes" };
        const answer = { ...object, metadata: { ...object.metadata, annotations } };
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    home = await OperatorHome.create(cluster(), [
      ...["--extensions", `--extension-hosts=${url}=127.0.0.1`, "--webhook-port=0"],
    ]);
    const leader = home.start("operator-1");
    await leader.leads(60 * seconds);
    const other = home.start("operator-2");
    replicas = [leader, other];
    await put("app");
    await home.untilCompiled('"app"');
    await home.registerWebhooks(await other.webhookPort());
    await cluster().api.apply(path, {
      apiVersion: "bunting.dev/v1alpha1",
      kind: "Extension",
      metadata: { name },
      spec: {
        ...{ hooks: ["pre-create", "lint"], objects: ["Sidecar", "FeatureFlag"], url },
        ...{ failurePolicy: "Ignore", mutates: ["/metadata/annotations"] },
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": home.shop } },
      },
    });
    await home.untilCompiled(mark);
  });
  after(async () => {
    await cluster().api.request("DELETE", path);
    await home.stop();
    server.closeAllConnections();
    server.close();
  });

  function put(source: string): Promise<ApiObject> {
    return home.put("FeatureFlagSource", source, { sources: [{ source: "flags", provider: "flagd-proxy" }] });
  }

  async function stored(): Promise<Readonly<Record<string, string>>> {
    const { items } = await cluster().api.list(
      `/apis/bunting.dev/v1alpha1/namespaces/${home.shop}/injections`,
    );
    return Object.fromEntries(items.map((item) => [item.metadata.name, JSON.stringify(item)]));
  }

  async function isSaid(reason: string): Promise<void> {
    const has = async (): Promise<boolean> => {
      const { status } = (await cluster().api.get(path)) as StoredExtension;
      return status?.conditions?.some((each) => each.type === "Healthy" && each.reason === reason) ?? false;
    };
    await eventually(has, `Healthy: ${reason}`, 120 * seconds);
  }

  const failing = (): Promise<readonly number[]> =>
    Promise.all(
      replicas.map(async (replica) => {
        const [value = 0] = (await metrics(replica, "bunting_operator_extension_failing{")).values();
        return value;
      }),
    );

  it("says that one has recovered although nobody writes another FeatureFlag", async () => {
    await isSaid("Answered");
    isUp = false;
    const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
    await home.put("FeatureFlag", "last", { flagSpec: { flags: { a: flag } } });
    await isSaid("Failing");
    await eventually(async () => (await failing()).join() === "1,1", "both know it", 60 * seconds);
    isUp = true;
    await isSaid("Answered");
    const { status } = (await cluster().api.get(path)) as StoredExtension;
    expect(status?.lastError).to.equal("it answered 500");
    await eventually(async () => (await failing()).join() === "0,0", "both know it", 60 * seconds);
  });

  it("gives Pods what it made of each of 220 sources, and keeps no more than it needs", async () => {
    const names = Array.from({ length: 220 }, (_, at) => `source-${at}`);
    await inParallel(names, put);
    const isComplete = async (): Promise<boolean> => {
      const all = Object.values(await stored()).join();
      return names.every((each) => all.includes(`"${each}":`)) && all.split(mark).length === names.length + 2;
    };
    await eventually(isComplete, "all are stored as it has them", 120 * seconds);
    expect(Object.keys(await stored())).to.have.members(["bunting", "bunting-1"]);
    expect([...asked]).to.include.members(names);
    const { "bunting-1": further = "" } = await stored();
    const [text = ""] = names.filter((each) => further.includes(`"${each}":`));
    const pod = await home.createPod({ "openfeature.dev/featureflagsource": text });
    expect(pod.text, text).to.contain(mark);
    await inParallel(names, (each) => cluster().api.request("DELETE", home.path("FeatureFlagSource", each)));
    await eventually(
      async () => Object.keys(await stored()).join() === "bunting",
      "one is enough",
      120 * seconds,
    );
  });
});
