import { createHash } from "node:crypto";
import {
  ClusterWatches,
  connectCluster,
  type ConnectedCluster,
  type ObjectScope,
  type RestClient,
} from "@bunting/kube";
import { AccessController } from "@bunting/operator/internal/controllers/access/access-controller.js";
import { ClusterSources } from "@bunting/operator/internal/controllers/injection/cluster-sources.js";
import { operatorMetrics } from "@bunting/operator/internal/operator-metrics.js";
import { createLogger, createRegistry, systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { EventQueue, eventually } from "../support/event-queue.js";
import type { ApiObject } from "./support/api-client.js";
import { featureFlagPath } from "./support/cluster.js";
import { inParallel } from "./support/in-parallel.js";
import { sharedCluster } from "./support/use-cluster.js";

const flags = (name: string) => ({
  flags: { [name]: { state: "ENABLED", variants: { on: true }, defaultVariant: "on" } },
});

type Asking = Pick<RestClient, "get" | "apply" | "delete">;

/** @param onAsked is called with each request, such as `delete configmaps` */
function counted(client: Asking, onAsked: (what: string) => void): Asking {
  const asks = (verb: string, { type }: ObjectScope): void => onAsked(`${verb} ${type.plural}`);
  return {
    get: (scope, ...rest) => {
      asks("get", scope);
      return client.get(scope, ...rest);
    },
    apply: (scope, ...rest) => {
      asks("apply", scope);
      return client.apply(scope, ...rest);
    },
    delete: (scope, ...rest) => {
      asks("delete", scope);
      return client.delete(scope, ...rest);
    },
  };
}

describe("what sidecars need that ask no proxy, on a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let namespace: string;
  let connected: ConnectedCluster;
  let abort: AbortController;
  let running: Promise<unknown>[];
  let lines: EventQueue<{ readonly reason?: string; readonly msg: string }>;
  let controller: AccessController;
  /** Reasons of events. */
  let told: string[];
  /** What the controller has asked the API server, such as `delete configmaps`. */
  let asked: string[];

  beforeEach(async () => {
    namespace = await cluster().createNamespace();
    const choice = { kubeconfig: cluster().kubeconfig, kubeContext: "", serviceAccountDirectory: "" };
    connected = await connectCluster(choice, { program: "bunting-test/0.0.0", clock: systemClock, env: {} });
    abort = new AbortController();
    lines = new EventQueue();
    const logger = createLogger(
      { format: "json", debug: false },
      { write: (line) => lines.push(JSON.parse(line) as { msg: string }) },
    );
    const reflected = { relist: () => undefined, event: () => undefined, error: () => undefined };
    const watches = new ClusterWatches({
      client: connected.client,
      context: { clock: systemClock, logger, metrics: reflected },
    });
    const sources = new ClusterSources(watches, {
      rules: {
        crossNamespace: "consent",
        providerKubernetes: "direct",
        proxyAddress: "proxy:8015",
        defaults: {},
        inProcessDefaults: {},
      },
      sidecar: {
        image: "agent:1",
        resources: {},
        imagePullSecrets: [],
        applicationEnv: "connection",
        hostNetworkPods: "skip",
        proxyAccess: "plain",
      },
    });
    const context = { clock: systemClock, logger, metrics: operatorMetrics(createRegistry(false)) };
    asked = [];
    const client = counted(connected.client, (what) => asked.push(what));
    const flagReaderRole = { kind: "ClusterRole", name: "flag-reader" } as const;
    told = [];
    const events = { record: ({ reason }: { readonly reason: string }) => void told.push(reason) };
    controller = new AccessController({ client, watches, sources, events, flagReaderRole, context });
    running = [connected.connections, sources, controller].map((each) => each.run(abort.signal));
  });

  afterEach(async () => {
    abort.abort();
    await Promise.all(running);
  });

  const configMapPath = (name: string): string => `/api/v1/namespaces/${namespace}/configmaps/${name}`;
  const bindings = async (): Promise<readonly ApiObject[]> =>
    (
      await cluster().api.list(
        `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings?labelSelector=bunting.dev/access`,
      )
    ).items;

  async function data(name: string): Promise<Readonly<Record<string, string>>> {
    const { status, text } = await cluster().api.request("GET", configMapPath(name));
    return status === 404 ? {} : (JSON.parse(text) as { data: Readonly<Record<string, string>> }).data;
  }

  const file = (): string => `${namespace}_limits.flagd.json`;
  const untilData = (text: string, what: string): Promise<void> =>
    eventually(async () => (await data("limits"))[file()]?.includes(text) === true, what);

  it("a file follows each edit of its FeatureFlag, and is put back", async () => {
    await cluster().putFeatureFlag(namespace, "limits", flags("first"));
    controller.needs(namespace, { files: [{ namespace, name: "limits" }], watched: [], asksProxy: false });
    await untilData("first", "the file");
    await cluster().putFeatureFlag(namespace, "limits", flags("second"));
    await untilData("second", "the edit");
    await cluster().api.patch(configMapPath("limits"), { data: { [file()]: "{}" } });
    await untilData("second", "it is put back");
    await cluster().api.delete(configMapPath("limits"));
    await untilData("second", "it is made again");
    const { metadata } = await cluster().api.get(configMapPath("limits"));
    expect(metadata["ownerReferences"]).to.have.nested.property("[0].kind", "FeatureFlag");
  });

  it("a file comes when its FeatureFlag does", async () => {
    controller.needs(namespace, { files: [{ namespace, name: "limits" }], watched: [], asksProxy: false });
    await cluster().putFeatureFlag(namespace, "limits", flags("late"));
    await untilData("late", "the file");
  });

  it("a file of another namespace goes when it is no longer shared, and one of the Pods' own stays", async () => {
    const owner = await cluster().createNamespace();
    await cluster().putFeatureFlag(owner, "limits", flags("theirs"));
    await cluster().putFeatureFlag(namespace, "limits", flags("own"));
    const own = { namespace, name: "limits" };
    controller.needs(namespace, {
      files: [own, { namespace: owner, name: "limits" }],
      watched: [],
      asksProxy: false,
    });
    const foreign = async (): Promise<readonly ApiObject[]> => {
      const { items } = await cluster().api.list(
        `/api/v1/namespaces/${namespace}/configmaps?labelSelector=bunting.dev/access`,
      );
      return items.filter(({ metadata }) => metadata.name !== "limits");
    };
    await eventually(async () => (await foreign()).length === 1, "the other's file");
    await untilData("own", "the own file");
    controller.needs(namespace, { files: [], watched: [], asksProxy: false });
    await eventually(async () => (await foreign()).length === 0, "it is gone");
    expect((await data("limits"))[file()]).to.contain("own");
  });

  it("a FeatureFlag that is too large for a file keeps no other from being one", async () => {
    const large = { ...flags("large"), metadata: { text: "x".repeat(1_100_000) } };
    await cluster().putFeatureFlag(namespace, "large", large);
    await cluster().putFeatureFlag(namespace, "limits", flags("small"));
    const files = ["large", "limits"].map((name) => ({ namespace, name }));
    controller.needs(namespace, { files, watched: [], asksProxy: false });
    await untilData("small", "the other file");
  });

  it("an edit of one of many costs no request about the others", async () => {
    const files = Array.from({ length: 40 }, (_, index) => ({ namespace, name: `limits-${index}` }));
    await inParallel(files, ({ name }) => cluster().putFeatureFlag(namespace, name, flags("first")));
    controller.needs(namespace, { files, watched: [], asksProxy: false });
    const last = async (): Promise<string> =>
      (await data("limits-39"))[`${namespace}_limits-39.flagd.json`] ?? "";
    await eventually(async () => (await last()) !== "", "all files");
    asked = [];
    await cluster().putFeatureFlag(namespace, "limits-39", flags("second"));
    await eventually(async () => (await last()).includes("second"), "the edit");
    // Some that were just written may be looked at before the watch has told of that.
    expect(asked).to.have.length.below(40);
  });

  it("whose names are one, as somebody has seen to, are not written in turns", async () => {
    const owner = await cluster().createNamespace();
    const name = `flags-${createHash("sha256").update(`${owner}/limits`).digest("hex").slice(0, 16)}`;
    await cluster().putFeatureFlag(owner, "limits", flags("theirs"));
    await cluster().putFeatureFlag(namespace, name, flags("own"));
    const theirs = { namespace: owner, name: "limits" };
    controller.needs(namespace, { files: [{ namespace, name }, theirs], watched: [], asksProxy: false });
    const untilTheirs = (text: string): Promise<void> =>
      eventually(
        async () => (await data(name))[`${owner}_limits.flagd.json`]?.includes(text) === true,
        `the file has ${text}`,
      );
    await untilTheirs("theirs");
    asked = [];
    for (const text of ["first", "second", "third"]) {
      await cluster().putFeatureFlag(owner, "limits", flags(text));
      await untilTheirs(text);
    }
    expect(asked.filter((what) => what === "apply configmaps")).to.have.length.below(7);
  });

  it("that others keep from ending by a finalizer are deleted once, and made again when that is over", async () => {
    const owner = await cluster().createNamespace();
    await cluster().putFeatureFlag(owner, "limits", flags("theirs"));
    await cluster().putFeatureFlag(namespace, "limits", flags("own"));
    const [own, theirs] = [
      { namespace, name: "limits" },
      { namespace: owner, name: "limits" },
    ];
    const held = async (): Promise<ApiObject | undefined> => {
      const { items } = await cluster().api.list(
        `/api/v1/namespaces/${namespace}/configmaps?labelSelector=bunting.dev/access`,
      );
      return items.find(({ metadata }) => metadata.name !== "limits");
    };
    controller.needs(namespace, { files: [own, theirs], watched: [], asksProxy: false });
    await eventually(async () => (await held()) !== undefined, "the file");
    const { name = "", uid } = (await held())?.metadata ?? {};
    await cluster().api.patch(configMapPath(name), { metadata: { finalizers: ["tenant.example/held"] } });
    controller.needs(namespace, { files: [own], watched: [], asksProxy: false });
    await eventually(async () => (await held())?.metadata["deletionTimestamp"] !== undefined, "it ends");
    for (const text of ["first", "second"]) {
      await cluster().api.patch(configMapPath(name), { metadata: { labels: { text } } });
      await cluster().putFeatureFlag(namespace, "limits", flags(text));
      await untilData(text, "the edit of another one");
    }
    expect(asked.filter((what) => what === "delete configmaps")).to.have.length(1);
    controller.needs(namespace, { files: [own, theirs], watched: [], asksProxy: false });
    await cluster().api.patch(configMapPath(name), { metadata: { finalizers: null } });
    await eventually(async () => {
      const { metadata } = (await held()) ?? {};
      return metadata !== undefined && metadata.uid !== uid && metadata["deletionTimestamp"] === undefined;
    }, "it is made again");
  });

  it("one that is labelled for another namespace is none of ours, and gives that no work", async () => {
    const other = await cluster().createNamespace();
    controller.needs(other, { files: [], watched: [], asksProxy: false });
    const labels = { "bunting.dev/access": other };
    const annotations = { "openfeature.dev/featureflag": "team/limits" };
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    await cluster().api.create(path, { metadata: { name: "spoofed", labels, annotations }, data: {} });
    await cluster().putFeatureFlag(namespace, "limits", flags("later"));
    controller.needs(namespace, { files: [{ namespace, name: "limits" }], watched: [], asksProxy: false });
    await untilData("later", "the file");
    controller.needs(other, { files: [{ namespace: other, name: "none" }], watched: [], asksProxy: false });
    controller.needs(other, { files: [], watched: [], asksProxy: false });
    await cluster().putFeatureFlag(namespace, "limits", flags("last"));
    await untilData("last", "the file");
    expect((await cluster().api.get(configMapPath("spoofed"))).metadata.name).to.equal("spoofed");
  });

  it("a ConfigMap of the open-feature-operator is taken over, and one of somebody else is left alone", async () => {
    await cluster().putFeatureFlag(namespace, "limits", flags("new"));
    const annotations = { "openfeature.dev/featureflag": "limits" };
    const stock = { metadata: { name: "limits", annotations }, data: { [file()]: "{}" } };
    await cluster().api.create(`/api/v1/namespaces/${namespace}/configmaps`, stock);
    await cluster().putFeatureFlag(namespace, "taken", flags("ours"));
    const users = { metadata: { name: "taken" }, data: { mine: "yes" } };
    await cluster().api.create(`/api/v1/namespaces/${namespace}/configmaps`, users);
    const files = ["limits", "taken"].map((name) => ({ namespace, name }));
    controller.needs(namespace, { files, watched: [], asksProxy: false });
    await untilData("new", "it is taken over");
    const { msg } = await lines.nextMatching(
      ({ reason }) => reason === "NameTaken",
      "a word about the other",
    );
    expect(msg).to.contain(`the ConfigMap ${namespace}/taken is somebody else's`);
    expect(told).to.include("NameTaken");
    expect(await data("taken")).to.deep.equal({ mine: "yes" });
  });

  it("a binding lets the ServiceAccounts of the Pods' namespace watch FeatureFlags while they need it", async () => {
    await cluster().api.apply("/apis/rbac.authorization.k8s.io/v1/clusterroles/flag-reader", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "flag-reader" },
      rules: [
        {
          apiGroups: ["core.openfeature.dev"],
          resources: ["featureflags"],
          verbs: ["get", "list", "watch"],
        },
      ],
    });
    await cluster().putFeatureFlag(namespace, "limits", flags("f"));
    const { token } = await cluster().createServiceAccountToken(namespace, "app");
    const status = async (): Promise<number> =>
      (await cluster().api.request("GET", featureFlagPath(namespace, "limits"), { token })).status;
    expect(await status()).to.equal(403);
    controller.needs(namespace, { files: [], watched: [{ namespace, name: "limits" }], asksProxy: false });
    await eventually(async () => (await status()) === 200, "it may");
    controller.needs(namespace, { files: [], watched: [], asksProxy: false });
    await eventually(async () => (await bindings()).length === 0, "the binding is gone");
    await eventually(async () => (await status()) === 403, "it may no longer");
  });
});
