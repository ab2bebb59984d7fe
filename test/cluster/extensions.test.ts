import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Condition } from "@bunting/kube";
import { mapPodTexts, type ExtensionObject, type ExtensionRequest } from "@bunting/extension";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import type { ApiObject } from "./support/api-client.js";
import { hasSidecar, metrics, OperatorHome } from "./support/operator-home.js";
import type { OperatorProcess } from "./support/operator-process.js";
import { sharedCluster } from "./support/use-cluster.js";

const seconds = 1_000;
const extensions = "/apis/bunting.dev/v1alpha1/extensions";

/** What a service answers; undefined: 204. */
type Hook = (question: ExtensionRequest, response: ServerResponse, request: IncomingMessage) => unknown;

interface StoredExtension extends ApiObject {
  readonly status?: {
    readonly order?: number;
    readonly cycle?: string;
    readonly lastError?: string;
    readonly conditions?: readonly Condition[];
  };
}

/** The operator is a real process with the rights of the chart and nothing else; the services behind Extensions are servers of the test. */
describe("extensions, on a real API server", function () {
  this.timeout(120 * seconds);
  const cluster = sharedCluster();
  let home: OperatorHome;
  let operator: OperatorProcess;
  let server: Server;
  /** By the path that an Extension has, which is its name. */
  const hooks = new Map<string, Hook>();
  let asked: ExtensionRequest[];
  const made = new Set<string>();

  before(async () => {
    server = createServer((request, response) => {
      void text(request).then((body) => {
        const question = JSON.parse(body) as ExtensionRequest;
        asked.push(question);
        const answer = hooks.get(request.url?.slice(1) ?? "")?.(question, response, request);
        if (response.headersSent || answer === "later") return;
        if (answer === undefined) response.writeHead(204).end();
        else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    asked = [];
    const host = `http://localhost:${portOf(server)}=127.0.0.0/8+::1/128`;
    home = await OperatorHome.create(cluster(), [
      ...["--extensions", `--extension-hosts=${host}`, "--flagd", "--proxy=always"],
      "--webhook-port=0",
    ]);
    operator = home.start("operator-1");
    await operator.leads(60 * seconds);
    await home.put("FeatureFlagSource", "app", { sources: [{ source: "flags", provider: "flagd-proxy" }] });
    await home.untilCompiled('"app"');
    await home.registerWebhooks(await operator.webhookPort());
  });
  beforeEach(() => (asked = []));
  afterEach(async () => {
    for (const name of made) await cluster().api.request("DELETE", `${extensions}/${name}`);
    made.clear();
    hooks.clear();
    await home.untilCompiled('"app"');
  });
  after(async () => {
    await home.stop();
    server.closeAllConnections();
    server.close();
  });

  async function register(name: string, spec: object, hook: Hook): Promise<void> {
    hooks.set(name, hook);
    made.add(name);
    await cluster().api.apply(`${extensions}/${name}`, {
      apiVersion: "bunting.dev/v1alpha1",
      kind: "Extension",
      metadata: { name },
      spec: {
        ...{ hooks: ["pre-create"], objects: ["Sidecar"], url: `http://localhost:${portOf(server)}/${name}` },
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": home.shop } },
        ...spec,
      },
    });
  }

  async function annotate(name: string, annotations: object): Promise<void> {
    await cluster().api.request("PATCH", home.path("FeatureFlagSource", name), {
      body: { metadata: { annotations } },
      contentType: "application/merge-patch+json",
    });
  }

  async function extension(name: string): Promise<StoredExtension> {
    return await cluster().api.get(`${extensions}/${name}`);
  }

  const isSaid = (name: string, type: string, reason: string): Promise<void> =>
    eventually(
      async () => {
        const { status } = await extension(name);
        return status?.conditions?.some((each) => each.type === type && each.reason === reason) ?? false;
      },
      `${name}: ${type} ${reason}`,
      60 * seconds,
    );

  /** Resolves with the condition of the source once it has that reason. */
  async function sourceIsSaid(type: string, reason: string): Promise<Condition> {
    let found: Condition | undefined;
    const isFound = async (): Promise<boolean> => {
      const { status } = (await cluster().api.get(home.path("FeatureFlagSource", "app"))) as StoredExtension;
      found = status?.conditions?.find((each) => each.type === type && each.reason === reason);
      return found !== undefined;
    };
    await eventually(isFound, `app: ${type} ${reason}`, 60 * seconds);
    return found ?? expect.fail("there is no condition");
  }

  it("changes the sidecars of a namespace, as the applications there configure it, and asks no more than once", async () => {
    await annotate("app", { "extensions.bunting.dev/qos": '{"memory":"96Mi"}' });
    await register("qos", {}, ({ object, configuration }) => limited(object, configuration));
    await home.untilCompiled('"96Mi"');
    const pod = await home.createPod();
    expect(hasSidecar(pod)).to.equal(true);
    expect(pod.text).to.contain('"memory":"96Mi"');
    expect(asked.map(({ target, hook, namespace }) => [target, hook, namespace.name])).to.deep.equal([
      ["Sidecar", "pre-create", home.shop],
    ]);
    await isSaid("qos", "Healthy", "Answered");
    expect((await extension("qos")).status).to.include({ order: 1 });
    await annotate("app", { "extensions.bunting.dev/qos": null });
  });

  it("lets go of what an Extension did that is deleted", async () => {
    await register("limits", {}, ({ object }) => limited(object, { memory: "77Mi" }));
    await home.untilCompiled('"77Mi"');
    await cluster().api.request("DELETE", `${extensions}/limits`);
    await eventually(
      async () => !JSON.stringify(await home.injection()).includes("77Mi"),
      "the entry is plain again",
      60 * seconds,
    );
    expect((await home.createPod()).text).not.to.contain("77Mi");
  });

  it("gives Pods nothing where one refuses it, and says why to the owner of the source", async () => {
    await register("judge", {}, (_question, response) => {
      response.writeHead(403, { "content-type": "text/plain" }).end("no flags in this namespace");
    });
    const { message } = await sourceIsSaid("Compiled", "RefusedByExtension");
    expect(message).to.contain("no flags in this namespace").and.to.contain("judge");
    await eventually(async () => !hasSidecar(await home.createPod()), "Pods get none", 60 * seconds);
    const pod = await home.createPod();
    expect(pod.text).to.contain("RefusedByExtension");
    await isSaid("judge", "Healthy", "Answered");
    const events = `/apis/events.k8s.io/v1/namespaces/${home.shop}/events`;
    await eventually(
      async () => {
        const { items } = await cluster().api.list(events);
        const told = items.filter(({ reason }) => reason === "RefusedByExtension");
        return JSON.stringify(told).includes("no flags in this namespace");
      },
      "an event says it",
      60 * seconds,
    );
  });

  it("keeps what was made before while one fails that must not be left out, and goes on when it is back", async () => {
    let isUp = true;
    await register("needed", { failurePolicy: "Fail" }, ({ object }, response) =>
      isUp ? limited(object, { memory: "88Mi" }) : void response.writeHead(503).end(),
    );
    await home.untilCompiled('"88Mi"');
    isUp = false;
    const edited = { sources: [{ source: "others", provider: "flagd-proxy" }] };
    await home.put("FeatureFlagSource", "app", edited);
    await sourceIsSaid("Accepted", "ExtensionFailed");
    await isSaid("needed", "Healthy", "Failing");
    expect((await extension("needed")).status?.lastError).to.equal("it answered 503");
    expect(await metrics(operator, "bunting_operator_extension_failing{")).to.deep.equal(
      new Map([['extension="needed"}', 1]]),
    );
    const before = await home.createPod();
    expect(before.text).to.contain("88Mi").and.to.contain("/flags").and.not.to.contain("/others");
    isUp = true;
    await home.untilCompiled("/others");
    expect((await home.createPod()).text)
      .to.contain("88Mi")
      .and.to.contain("/others");
    await home.put("FeatureFlagSource", "app", { sources: [{ source: "flags", provider: "flagd-proxy" }] });
  });

  it("has an edit wait for one that does not answer, and no Pod", async () => {
    const held: (() => void)[] = [];
    let isSlow = false;
    let isLeft = false;
    await register("slow", { failurePolicy: "Fail", timeout: "10s" }, ({ object }, response) => {
      const answer = limited(object, { memory: "77Mi" });
      if (!isSlow) return answer;
      response.once("close", () => (isLeft ||= !response.writableEnded));
      held.push(() => response.writeHead(200).end(JSON.stringify(answer)));
      return "later";
    });
    await home.untilCompiled('"77Mi"');
    isSlow = true;
    await home.put("FeatureFlagSource", "app", { sources: [{ source: "others", provider: "flagd-proxy" }] });
    await eventually(() => held.length > 0, "it is asked about the edit");
    const { text } = await home.createPod();
    expect([held.length, isLeft], "it is still being asked").to.deep.equal([1, false]);
    expect(text).to.contain("77Mi").and.to.contain("/flags").and.not.to.contain("/others");
    isSlow = false;
    held[0]?.();
    await home.untilCompiled("/others");
    await home.put("FeatureFlagSource", "app", { sources: [{ source: "flags", provider: "flagd-proxy" }] });
  });

  it("goes on without one that may be left out, and names in its status what it must not do", async () => {
    await register("hostile", {}, ({ object }) => {
      const { spec } = object as ExtensionObject & { readonly spec: { readonly container: object } };
      return { ...object, spec: { ...spec, container: { ...spec.container, image: "evil.example/agent" } } };
    });
    await register("late", { after: ["hostile"] }, ({ object }) => limited(object, { memory: "99Mi" }));
    await home.untilCompiled('"99Mi"');
    expect(JSON.stringify(await home.injection())).not.to.contain("evil");
    await isSaid("hostile", "Healthy", "Failing");
    expect((await extension("hostile")).status?.lastError).to.contain("/spec/container/image");
    expect((await extension("hostile")).status?.order).to.equal(1);
    expect((await extension("late")).status?.order).to.equal(2);
  });

  it("calls one failing no more when the one source is gone at which it failed", async () => {
    await register("picky", {}, (question, response) =>
      question.object.metadata.name === "bad" ? void response.writeHead(500).end() : undefined,
    );
    await isSaid("picky", "Healthy", "Answered");
    await home.put("FeatureFlagSource", "bad", { sources: [{ source: "flags", provider: "flagd-proxy" }] });
    await isSaid("picky", "Healthy", "Failing");
    await cluster().api.request("DELETE", home.path("FeatureFlagSource", "bad"));
    await isSaid("picky", "Healthy", "Answered");
    expect((await extension("picky")).status?.lastError).to.equal("it answered 500");
  });

  it("keeps one of the answers of a hostile one whose answers differ each time", async () => {
    let number = 0;
    await register("fickle", {}, ({ object }) => {
      const annotations = {
        ...(object.metadata["annotations"] as object),
        "example.com/number": String(++number),
      };
      return { ...object, metadata: { ...object.metadata, annotations } };
    });
    await home.untilCompiled('"example.com/number":"1"');
    await annotate("app", { "example.com/edited": "1" });
    await register("after", { after: ["fickle"] }, ({ object }) => limited(object, { memory: "55Mi" }));
    await home.untilCompiled('"55Mi"');
    expect(JSON.stringify(await home.injection())).to.contain('"example.com/number":"1"');
    expect(number).to.equal(1);
    await annotate("app", { "example.com/edited": null });
  });

  it("bounds whatever hostile ones answer, and names it in their status, while sidecars go on", async () => {
    const spec = (object: ExtensionObject): Record<string, unknown> & { readonly container: object } =>
      object["spec"] as never;
    const volumes = [{ name: "host", hostPath: { path: "/" } }];
    const hostile: Readonly<Record<string, readonly [Hook, says: RegExp]>> = {
      "adds-a-volume": [
        ({ object }) => ({ ...object, spec: { ...spec(object), volumes } }),
        /does not list in mutates: .*\/spec\/volumes/,
      ],
      "is-privileged": [
        ({ object }) => {
          const securityContext = { privileged: true };
          return { ...object, spec: { container: { ...spec(object).container, securityContext } } };
        },
        /does not list in mutates: .*securityContext/,
      ],
      "is-somebody-else": [
        ({ object }) => ({ ...object, metadata: { ...object.metadata, namespace: "kube-system" } }),
        /does not list in mutates: \/metadata\/namespace/,
      ],
      "sends-10-mb": [(_question, response) => void response.end("x".repeat(10_000_000)), /more than 1 MB/],
      "leads-elsewhere": [
        (_question, response) =>
          void response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data/" }).end(),
        /answered 302/,
      ],
      drips: [
        (_question, response) => {
          response.write("{");
          return "later";
        },
        /has not answered completely within/,
      ],
      "says-nothing-of-sense": [(_question, response) => void response.end("]"), /what is no JSON/],
    };
    for (const [name, [hook]] of Object.entries(hostile))
      await register(name, { timeout: name === "drips" ? "500ms" : "10s" }, hook);
    await register("honest", { priority: -1 }, ({ object }) => limited(object, { memory: "66Mi" }));
    await home.untilCompiled('"66Mi"');
    const stored = JSON.stringify(await home.injection());
    for (const word of ["hostPath", 'privileged":true', "kube-system"]) expect(stored).not.to.contain(word);
    for (const [name, [, says]] of Object.entries(hostile)) {
      await isSaid(name, "Healthy", "Failing");
      expect((await extension(name)).status?.lastError).to.match(says);
    }
  });

  it("says on the youngest of a circle what is left out of it", async () => {
    await register("first", { before: ["second"] }, () => undefined);
    await isSaid("first", "Ordered", "Ordered");
    await register("second", { before: ["first"] }, () => undefined);
    await isSaid("second", "Ordered", "Cycle");
    expect((await extension("second")).status?.cycle).to.equal("second → first → second");
    expect((await extension("first")).status?.order).to.equal(1);
  });

  it("changes the objects of the proxy and of Flagds, and leaves them as they are where one refuses that", async () => {
    const selects = { namespaceSelector: {} };
    await register("notes", { objects: ["Proxy", "Flagd"], ...selects }, ({ object }) => ({
      ...object,
      metadata: {
        ...object.metadata,
        annotations: { ...(object.metadata["annotations"] as object), "example.com/seen": object.kind },
      },
    }));
    await home.put("Flagd", "served", { featureFlagSource: "app" });
    const noted = (path: string, kind: string): Promise<void> =>
      eventually(
        async () => {
          const { status, text: found } = await cluster().api.request("GET", path);
          return status === 200 && found.includes(`"example.com/seen":"${kind}"`);
        },
        `${path} is noted`,
        60 * seconds,
      );
    const { namespace } = home.account;
    await noted(`/apis/apps/v1/namespaces/${namespace}/deployments/flagd-proxy`, "Deployment");
    await noted(`/api/v1/namespaces/${namespace}/services/flagd-proxy-svc`, "Service");
    await noted(`/apis/apps/v1/namespaces/${home.shop}/deployments/served`, "Deployment");
    hooks.set("notes", (_question, response) => void response.writeHead(422).end("not today"));
    await home.put("Flagd", "refused", { featureFlagSource: "app" });
    await eventually(
      async () =>
        JSON.stringify(await cluster().api.get(home.path("Flagd", "refused"))).includes("not today"),
      "the Flagd says so",
      60 * seconds,
    );
    const { status } = await cluster().api.request(
      "GET",
      `/apis/apps/v1/namespaces/${home.shop}/deployments/refused`,
    );
    expect(status).to.equal(404);
    // A label that the selector of a Deployment needs.
    hooks.set("notes", ({ object }) =>
      mapPodTexts(object, "labels", (labels) => ({ ...labels, app: "other" })),
    );
    await home.put("Flagd", "mislabelled", { featureFlagSource: "app" });
    await eventually(
      async () => ((await extension("notes")).status?.lastError ?? "").includes("the API server refuses"),
      "the Extension says so",
      60 * seconds,
    );
    const made = `/apis/apps/v1/namespaces/${home.shop}/deployments/mislabelled`;
    await eventually(
      async () => (await cluster().api.request("GET", made)).status === 200,
      "it is made without the extension",
      60 * seconds,
    );
    for (const name of ["served", "refused", "mislabelled"])
      await cluster().api.request("DELETE", home.path("Flagd", name));
  });

  it("comments on FeatureFlags that are written: errors refuse them, all else is a warning", async () => {
    const spec = { hooks: ["lint"], objects: ["FeatureFlag"] };
    await register("owners", spec, ({ object }) => ({
      findings: [
        ...(JSON.stringify(object).includes("owner")
          ? []
          : [{ severity: "error", message: "it has no owner", field: "/spec/flagSpec/flags/a" }]),
        { severity: "warning", message: "so many flags" },
      ],
    }));
    const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
    const write = (metadata: object): ReturnType<OperatorHome["put"]> =>
      home.put("FeatureFlag", "owned", { flagSpec: { flags: { a: { ...flag, ...metadata } } } });
    await eventually(
      async () => {
        const error = await write({}).then(
          () => undefined,
          (cause: unknown) => cause as Error,
        );
        return error?.message.includes("spec.flagSpec.flags.a: it has no owner") ?? false;
      },
      "it is refused",
      60 * seconds,
    );
    await write({ metadata: { owner: "shop" } });
    const [last] = asked.slice(-1);
    expect(last).to.deep.include({ hook: "lint", target: "FeatureFlag", dryRun: false });
    expect(last?.object.metadata).not.to.have.property("managedFields");
  });

  it("lets FeatureFlags be written within a second while an extension does not answer", async () => {
    await register("mute", { hooks: ["lint"], objects: ["FeatureFlag"], timeout: "10s" }, () => "later");
    const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
    let number = 0;
    await eventually(
      async () => {
        await home.put("FeatureFlag", `quick-${number++}`, { flagSpec: { flags: { a: flag } } });
        return asked.some(({ hook }) => hook === "lint");
      },
      "it is asked",
      60 * seconds,
    );
    await isSaid("mute", "Healthy", "Failing");
    expect((await extension("mute")).status?.lastError).to.equal("it has not answered within a second");
  });
});

/** The object with limits for its container. */
function limited(object: ExtensionObject, configuration: unknown): object {
  const { memory } = configuration as { readonly memory: string };
  const { spec } = object as ExtensionObject & { readonly spec: { readonly container: object } };
  const resources = { limits: { memory }, requests: { memory } };
  return { ...object, spec: { ...spec, container: { ...spec.container, resources } } };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
