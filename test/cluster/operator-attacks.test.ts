import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { createConnection, type Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { connect } from "node:tls";
import { expect } from "chai";
import { deepJson, reviewOf } from "@bunting/operator/internal/admission/admission-review.fixture.js";
import { secretPath, webhookPaths } from "@bunting/operator/internal/api/webhooks.js";
import { webhookKeySecret } from "@bunting/operator/internal/certificates/webhook-key-secret.js";
import { managementAttacks, probe } from "../abuse/support/management-attacks.js";
import { clientHello } from "../support/client-hello.js";
import { eventually } from "../support/event-queue.js";
import { scaled } from "../support/scale.js";
import { asking, hasSidecar, logged, OperatorHome } from "./support/operator-home.js";
import type { OperatorProcess } from "./support/operator-process.js";
import { anonymousBytes } from "./support/rss-bytes.js";
import { freshCluster } from "./support/use-cluster.js";

/** Half of the limit of the chart. */
const usualMiB = 96;
/** The limit of the chart. Who sends so much must know the key of a path, as API servers do. */
const limitMiB = 192;
const connections = scaled(1_000, 300);
const mebibyte = 2 ** 20;

interface Ended {
  destroy: () => unknown;
}

/** The webhook port of an operator as its image runs it, while a real API server asks it for each Pod. */
describe("an operator whose webhook port is attacked", function () {
  this.timeout(240_000);
  const cluster = freshCluster();
  let home: OperatorHome;
  let operator: OperatorProcess;
  let port: number;
  /** The path of the webhook for Pods, as those know it who have its key. */
  let path: string;
  let peers: Ended[];
  let peakBytes: number;
  let maxMiB: number;
  let sampling: NodeJS.Timeout;

  before(async () => {
    home = await OperatorHome.create(cluster(), []);
    operator = home.start("operator-1");
    await operator.leads(60_000);
    await home.put("FeatureFlagSource", "app", { sources: [{ source: "flags", provider: "flagd-proxy" }] });
    await home.untilCompiled("app");
    port = await operator.webhookPort();
    await home.registerWebhooks(port);
    const { namespace } = home.account;
    const secret = await cluster().api.get(
      `/api/v1/namespaces/${namespace}/secrets/${webhookKeySecret.name}`,
    );
    const [key] = webhookKeySecret.read(secret);
    path = secretPath(webhookPaths.pod, key?.key ?? "");
  });
  after(() => home.stop());

  beforeEach(() => {
    peers = [];
    peakBytes = 0;
    maxMiB = usualMiB;
    sampling = setInterval(() => {
      peakBytes = Math.max(peakBytes, anonymousBytes(operator.process.pid));
    }, 20);
  });
  afterEach(async () => {
    clearInterval(sampling);
    for (const peer of peers) peer.destroy();
    await isServed("it serves on when all are gone");
    expect(peakBytes / mebibyte, "MiB").to.be.below(maxMiB);
    expect(logged(operator, "can't be answered")).to.deep.equal([]);
  });

  /** Pods that the API server asks for are injected. */
  async function isServed(what: string): Promise<void> {
    for (let pod = 0; pod < 3; pod++)
      await eventually(async () => hasSidecar(await home.createPod()), what, 60_000);
  }

  /** A connection of somebody else than the API server. */
  async function tcp(): Promise<Socket> {
    const socket = createConnection({ port, host: "127.0.0.1", localAddress: "127.0.0.2" });
    socket.on("error", () => undefined);
    peers.push(socket);
    await untilEither(socket, "connect");
    return socket;
  }

  async function tls(protocols: readonly string[] = ["http/1.1"]): Promise<Socket> {
    const socket = connect({ socket: await tcp(), rejectUnauthorized: false, ALPNProtocols: [...protocols] });
    socket.on("error", () => undefined);
    peers.push(socket);
    await untilEither(socket, "secureConnect");
    return socket;
  }

  const many = <T>(count: number, one: () => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, () => one()));

  async function post(body: Buffer | string, at = path): Promise<{ status: number; text: string }> {
    const target = { host: "127.0.0.1", port, path: at, method: "POST", rejectUnauthorized: false };
    const sent = request({ ...target, agent: false, localAddress: "127.0.0.2" });
    const failed = new Promise<never>((_, reject) => sent.on("error", reject));
    failed.catch(() => undefined);
    sent.end(body);
    const [response] = (await Promise.race([once(sent, "response"), failed])) as [IncomingMessage];
    return { status: response.statusCode ?? 0, text: await readText(response) };
  }

  it(`serves while ${connections} peers say nothing`, async () => {
    await many(connections, tcp);
    await isServed("an idle crowd is no obstacle");
  });

  it(`serves while ${connections} peers have sent half a ClientHello`, async () => {
    const hello = await clientHello();
    const half = hello.subarray(0, hello.length / 2);
    for (const socket of await many(connections, tcp)) socket.write(half);
    await isServed("half a handshake is no obstacle");
  });

  it("serves while 200 peers have sent half a header, and 200 half a body, to a path that there is and one that is not", async () => {
    for (const socket of await many(200, tls)) socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\nx-drip: `);
    for (const at of [path, "/mutate-v1-pod"])
      for (const socket of await many(100, tls))
        socket.write(`POST ${at} HTTP/1.1\r\nhost: x\r\ncontent-length: 7000000\r\n\r\n{"apiVersion":`);
    await isServed("what is half sent is no obstacle");
  });

  it("serves while peers send requests without end and read no answer", async () => {
    const one = "POST /mutate-v1-pod HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";
    const flood = Buffer.from(one.repeat(10_000));
    for (const socket of await many(20, tls)) {
      socket.pause();
      socket.write(flood);
    }
    await isServed("a pipeline is no obstacle");
  });

  it("speaks no HTTP/2, and serves while peers try", async () => {
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", "latin1");
    for (const socket of await many(200, tls)) socket.write(Buffer.concat([preface, Buffer.alloc(65_536)]));
    for (const socket of await many(20, tcp)) socket.write(preface);
    const offered = await many(20, () => tls(["h2"]));
    expect(
      offered.every(({ destroyed }) => destroyed),
      "who offers h2 alone is refused",
    ).to.equal(true);
    await isServed("another protocol is no obstacle");
  });

  it("serves while somebody who knows the key sends reviews of 6 MB, 40 at a time", async () => {
    maxMiB = limitMiB;
    const annotations = { ...asking, large: "x".repeat(6_000_000) };
    const large = reviewOf({
      object: { metadata: { annotations }, spec: { containers: [{ name: "app" }] } },
    });
    const answers = Promise.allSettled(Array.from({ length: 40 }, () => post(large)));
    await isServed("large reviews take turns");
    const statuses = (await answers).flatMap((one) => (one.status === "fulfilled" ? [one.value.status] : []));
    for (const status of statuses) expect(status).to.be.oneOf([200, 413, 503]);
  });

  it("answers what is no review of a Pod with a sentence", async () => {
    maxMiB = limitMiB;
    const pod = '{"metadata":{},"spec":{"containers":[]}}';
    const review = (request: string): string =>
      `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":${request}}`;
    const kind = '"kind":{"group":"","version":"v1","kind":"Pod"}';
    const rest = `${kind},"operation":"CREATE","object":${pod}`;
    const hostile: Readonly<Record<string, string>> = {
      nothing: "",
      half: reviewOf({}).toString().slice(0, 60),
      depth: deepJson(3_400_000),
      braces: `[${"{},".repeat(2_000_000)}0]`,
      "a list": "[]",
      null: "null",
      "no request": review("null"),
      "no uid": review(`{${rest}}`),
      "an empty uid": review(`{"uid":"",${rest}}`),
      "a uid that is a number": review(`{"uid":7,${rest}}`),
      "another uid last": review(`{"uid":"a","uid":null,${rest}}`),
      "another kind": review(`{"uid":"a",${rest.replace('"Pod"', '"Secret"')}}`),
      "a kind of its own prototype": review(`{"uid":"a","__proto__":{${kind}},"operation":"CREATE"}`),
      "an object that is a list": review(`{"uid":"a",${kind},"operation":"CREATE","object":[]}`),
      "an old object that is a text": review(`{"uid":"a",${rest},"oldObject":"x"}`),
      "another version": reviewOf({}).toString().replace("k8s.io/v1", "k8s.io/v1beta1"),
    };
    for (const [what, body] of Object.entries(hostile)) {
      const { status, text } = await post(body);
      expect([status, text.split("\n").length], `${what}: ${text}`).to.deep.equal([400, 2]);
    }
    expect((await post("x".repeat(8 * mebibyte))).status).to.equal(413);
  });

  it("answers reviews of any Pod with JSON under their uid", async () => {
    maxMiB = limitMiB;
    const of = (metadata: object, spec: object): string =>
      reviewOf({ namespace: home.shop, object: { metadata, spec } } as Parameters<
        typeof reviewOf
      >[0]).toString();
    const wanted = { annotations: asking };
    const app = { containers: [{ name: "app" }] };
    const named = (name: string): string => of(wanted, app).replace('"name":"app"', `"name":"${name}"`);
    const hostile: Readonly<Record<string, string>> = {
      "lone surrogates": named("\\ud800\\udfff\\udc00"),
      "control characters": named("\\u0000\\u001b[2J"),
      "a prototype": of(wanted, app).replace(
        '"metadata":{',
        '"__proto__":{"spec":1},"metadata":{"__proto__":{},',
      ),
      "a constructor": of({ annotations: { ...asking, constructor: "x", toString: "y" } }, app),
      "a prototype of annotations": of(wanted, app).replace(
        '"annotations":{',
        '"annotations":{"__proto__":{"openfeature.dev/enabled":"false"},',
      ),
      "keys twice": of(wanted, app).replace('"spec":{', '"spec":{"containers":[]},"spec":{'),
      "10,000 containers": of(wanted, {
        containers: Array.from({ length: 10_000 }, (_, index) => ({ name: `app-${index}` })),
      }),
      "no containers": of(wanted, { containers: [] }),
      "containers of nothing": of(wanted, {}),
      "an annotation of 200 KB": of(
        { annotations: { ...asking, "openfeature.dev/featureflagsource": "x".repeat(200_000) } },
        app,
      ),
      "1,000 names": of(
        {
          annotations: {
            ...asking,
            "openfeature.dev/featureflagsource": Array.from(
              { length: 1_000 },
              (_, index) => `a${index}`,
            ).join(),
          },
        },
        app,
      ),
    };
    for (const [what, body] of Object.entries(hostile)) {
      const { status, text } = await post(body);
      expect(status, `${what}: ${text}`).to.equal(200);
      const { response } = JSON.parse(text) as { response: { uid: string; allowed: boolean } };
      expect(response, what).to.deep.include({ uid: "4711", allowed: true });
    }
  });

  it("answers a dry run, an update and an old object alone as the API server sends them, and patches none but what is created", async () => {
    maxMiB = limitMiB;
    const object = { metadata: { annotations: asking }, spec: { containers: [{ name: "app" }] } };
    const inShop = { namespace: home.shop, object };
    expect((await post(reviewOf({ ...inShop, dryRun: true }))).text).to.contain('"patch"');
    for (const other of [
      { ...inShop, operation: "UPDATE", oldObject: object },
      { ...inShop, operation: "DELETE", object: null, oldObject: object },
      { ...inShop, operation: "CREATE", object: null, oldObject: object },
      { ...inShop, subResource: "status" },
      { ...inShop, namespace: "" },
      { ...inShop, namespace: "__proto__" },
      { ...inShop, namespace: `${home.shop}/../kube-system` },
    ] as readonly Parameters<typeof reviewOf>[0][]) {
      const { status, text } = await post(reviewOf(other));
      expect([status, text.includes('"allowed":true'), text.includes("flagd")], text).to.deep.equal([
        200,
        true,
        false,
      ]);
    }
  });
});

/** By its chart, an operator has one port for probes and one for metrics, which anybody in the cluster reaches. */
describe("an operator whose ports of probes and metrics are attacked answers both, and leads on, while hundreds of peers", function () {
  this.timeout(120_000);
  const cluster = freshCluster();
  const attackers = scaled(1_000, 200);
  let home: OperatorHome;
  let operator: OperatorProcess;
  let sockets: Socket[];

  before(async () => {
    home = await OperatorHome.create(cluster(), ["--metrics-bind-address=127.0.0.1:0"]);
    operator = home.start("operator-1");
    await operator.leads(60_000);
    const readiness = `${await operator.management()}/readyz`;
    await eventually(async () => (await probe(readiness)) === 200, "it is ready", 60_000);
  });
  after(() => home.stop());
  beforeEach(() => (sockets = []));
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
  });

  for (const [number, [what, attack]] of Object.entries(managementAttacks).entries())
    it(what, async () => {
      const addresses = [await operator.management(), await operator.metrics()];
      const count = Math.min(attackers, attack.attackers ?? attackers);
      let peakBytes = 0;
      for (let index = 1; index <= count; index++) {
        for (const address of addresses) sockets.push(await attack.connect(Number(new URL(address).port)));
        if (index % (count / 4) > 0) continue;
        for (const address of addresses)
          for (const path of ["/healthz", "/readyz", "/metrics"])
            expect(await probe(address + path), `${path} after ${index} attackers`).to.equal(200);
        peakBytes = Math.max(peakBytes, anonymousBytes(operator.process.pid));
      }
      expect(peakBytes / mebibyte, "MiB").to.be.below(usualMiB);
      const name = `app-${number}`;
      await home.put("FeatureFlagSource", name, {
        sources: [{ source: "flags", provider: "flagd-proxy" }],
      });
      await home.untilCompiled(name);
    });
});

/** Resolves when the event comes, or when the peer is refused. */
function untilEither(socket: Socket, event: "connect" | "secureConnect"): Promise<void> {
  return new Promise((resolve) => {
    socket.once(event, resolve).once("close", resolve);
  });
}
