import { status as grpcStatus } from "@grpc/grpc-js";
import { syncV1 } from "@bunting/protocol";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { portOf, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { StockSyncClient, type SyncSubscription } from "../support/stock-sync-client.js";
import { HostilePeer, requestFrames } from "./support/hostile-peer.js";
import {
  answerJson,
  claimsOf,
  confirmed,
  refuses,
  revoked,
  ReviewingApiServer,
  type ReviewAnswer,
} from "./support/reviewing-api-server.js";

const namespaces = ["team-a", "team-b"];
const fetchAll = "/flagd.sync.v1.FlagSyncService/FetchAllFlags";
const hangs: ReviewAnswer = () => Promise.resolve();

/** The attackers hold tokens that this API server has signed, or that look like those; some of them are worth nothing any more. */
describe("a proxy that has tokens reviewed", () => {
  let server: ReviewingApiServer;
  let proxy: ProxyProcess;
  const clients: StockSyncClient[] = [];
  const peers: HostilePeer[] = [];
  let pods = 0;

  beforeEach(async () => {
    server = await ReviewingApiServer.start();
    for (const namespace of namespaces)
      server.put(namespace, "checkout", {
        flagSpec: { flags: { f: { state: "ENABLED", variants: { a: 1 } } } },
      });
    proxy = await server.startProxy(["--auth-recheck=1s"]);
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    for (const peer of peers.splice(0)) peer.destroy();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    expect(proxy.process.logs.filter(({ level }) => level === "error")).to.deep.equal([]);
    await server.close();
  });

  /** Of a Pod of its own. */
  const tokenOf = (namespace: string, serviceAccount = "web", expiresInSeconds = 600): string =>
    server.issuer.issue(namespace, serviceAccount, expiresInSeconds, `pod-${++pods}`);

  function subscribe(token: string, namespace = "team-a"): SyncSubscription {
    const client = new StockSyncClient(proxy.sync);
    clients.push(client);
    return client.subscribe({ selector: `${namespace}/checkout`, token });
  }

  /** The code with which a new stream is refused; OK if it is served. */
  async function codeOf(token: string, namespace?: string): Promise<grpcStatus> {
    const stream = subscribe(token, namespace);
    let code: grpcStatus | undefined;
    void stream.ended.then((end) => (code = end.code));
    await eventually(() => code !== undefined || stream.messages.size > 0, "the flags, or the end");
    stream.cancel();
    return code ?? grpcStatus.OK;
  }

  const statusWith = (token: string, more: object): string =>
    JSON.stringify({ status: { ...confirmed(token).status, ...more } });
  const lies: Readonly<Record<string, (token: string) => string>> = {
    "leaves the audience out": (token) => statusWith(token, { audiences: undefined }),
    "names another audience": (token) => statusWith(token, { audiences: ["https://kubernetes.default.svc"] }),
    "names the audience as a part of another": (token) =>
      statusWith(token, { audiences: ["bunting-2", "bunt"] }),
    "has a text of the audience": (token) => statusWith(token, { audiences: "bunting" }),
    "says authenticated as a text": (token) => statusWith(token, { authenticated: "true" }),
    "is about another token": () => JSON.stringify(confirmed(server.issuer.issue("team-b", "web"))),
    "has another form of the name": (token) => statusWith(token, { user: { username: "team-a/web" } }),
    "has a name with a blank": (token) =>
      statusWith(token, { user: { username: `${String(claimsOf(token)["sub"])} ` } }),
    "has a list of names": (token) => statusWith(token, { user: { username: [claimsOf(token)["sub"]] } }),
    "hides the status in a prototype": (token) => `{"__proto__":${JSON.stringify(confirmed(token))}}`,
    "is null": () => "null",
    "is a list": () => "[]",
    "is empty": () => "",
  };
  it("lets nobody in by an answer that confirms something else, whatever it is", async () => {
    for (const [what, lie] of Object.entries(lies)) {
      server.answer = (token, exchange) => answerJson(exchange, lie(token));
      expect(await codeOf(tokenOf("team-a")), what).to.equal(grpcStatus.UNAUTHENTICATED);
    }
    server.answer = (token, exchange) => answerJson(exchange, confirmed(token));
    expect(await codeOf(tokenOf("team-a"))).to.equal(grpcStatus.OK);
  });

  const storms: Readonly<Record<string, ReviewAnswer>> = {
    "answers 429": refuses(429),
    "never answers": hangs,
    "answers without end": (_, exchange) => answerJson(exchange, `["${"x".repeat(17 * 1024 * 1024)}"]`),
  };
  for (const [what, storm] of Object.entries(storms))
    it(`asks a server that ${what} now and then, not for each new caller, and serves those it knows`, async () => {
      const known = tokenOf("team-a");
      const open = subscribe(known);
      await open.messages.nextEvent("the flags");
      server.answer = storm;
      const before = server.reviewed.length;

      const codes = await Promise.all(Array.from({ length: 60 }, () => codeOf(tokenOf("team-a"))));

      expect(new Set(codes)).to.deep.equal(new Set([grpcStatus.UNAVAILABLE]));
      // Sixteen at once, and one at a time since the first of them failed.
      expect(server.reviewed.length - before).to.be.within(1, 40);
      expect(await codeOf(known)).to.equal(grpcStatus.OK);
      server.answer = (token, exchange) => answerJson(exchange, confirmed(token));
      await eventually(
        async () => (await codeOf(tokenOf("team-a"))) === grpcStatus.OK,
        "a new caller",
        120_000,
      );
      server.put("team-a", "checkout", {
        flagSpec: { flags: { g: { state: "ENABLED", variants: { a: 2 } } } },
      });
      expect(await open.messages.nextEvent("an edit")).to.have.nested.property("flags.g");
    });

  it("has none of 10,000 forged tokens reviewed, and serves new callers meanwhile", async () => {
    const [head = "", claims = "", signature = ""] = tokenOf("team-a").split(".");
    const message = syncV1.FetchAllFlagsRequest.encode({
      providerId: "",
      selector: "team-a/checkout",
    }).finish();
    let forged = 0;
    const forge = (): string => {
      const number = String(++forged).padStart(10, "A");
      const kid = Buffer.from(JSON.stringify({ alg: "RS256", kid: number })).toString("base64url");
      // With a signature that is wrong, with a key that there is not, and with claims that were not signed.
      if (forged % 3 === 0) return `${head}.${claims}.${number}${signature.slice(10)}`;
      return forged % 3 === 1
        ? `${kid}.${claims}.${signature}`
        : `${head}.${number}${claims.slice(10)}.${signature}`;
    };
    const flood = async (index: number): Promise<void> => {
      const peer = await HostilePeer.connect(portOf(proxy), { localAddress: `127.0.0.${2 + index}` });
      peers.push(peer);
      for (let sent = 0; sent < 1_000; sent += 50) {
        const requests = Array.from({ length: 50 }, () =>
          requestFrames(peer.takeStreamId(), fetchAll, {
            headers: { authorization: `Bearer ${forge()}` },
            message,
          }),
        );
        await peer.send(Buffer.concat(requests));
      }
    };
    const flooding = Promise.all(Array.from({ length: 10 }, (_, index) => flood(index)));
    const healthy = Array.from({ length: 20 }, () => tokenOf("team-b"));

    for (const token of healthy) expect(await codeOf(token, "team-b")).to.equal(grpcStatus.OK);
    await flooding;

    const refused = (reason: string): Promise<number> =>
      readMetric(proxy.management, `bunting_proxy_access_refused_identities_total{reason="${reason}"}`, 0);
    await eventually(async () => (await refused("token_signature")) > 1_000, "refusals by signature");
    await eventually(async () => (await refused("token_key_unknown")) > 0, "refusals by key");
    for (const token of [tokenOf("team-b"), tokenOf("team-a")]) await codeOf(token);
    // Those of the healthy, and no more; each again where its stream was looked at.
    expect(new Set(server.reviewed).size).to.equal(healthy.length + 2);
  });

  it("keeps the new Pods of a ServiceAccount in, however many revoked tokens of it are presented in all forms", async () => {
    const gone = Array.from({ length: 60 }, () => tokenOf("team-a", "shared"));
    const isGone = (token: string): boolean => gone.some((one) => token.startsWith(one.slice(0, -1)));
    server.answer = (token, exchange) => answerJson(exchange, isGone(token) ? revoked : confirmed(token));
    // The last character has bits that no signature has.
    const forms = [...gone.slice(0, 3)].flatMap((token) =>
      ["A", "Q", "g", "w", "h", "R"].map((c) => token.slice(0, -1) + c),
    );
    const codes = await Promise.all([...gone, ...forms].map((token) => codeOf(token)));
    expect(new Set(codes)).to.deep.equal(new Set([grpcStatus.UNAUTHENTICATED]));
    expect(server.reviewed.length, "each once").to.equal(gone.length);

    expect(await codeOf(tokenOf("team-a", "shared"))).to.equal(grpcStatus.OK);

    // A refusal is kept: what is presented again is not asked again.
    const before = server.reviewed.length;
    await Promise.all(gone.map((token) => codeOf(token)));
    expect(server.reviewed.length).to.equal(before);
  });

  it("ends the stream of a token that is revoked, although the API server fails before it says so", async () => {
    const token = tokenOf("team-a");
    const stream = subscribe(token);
    const other = subscribe(tokenOf("team-a"));
    for (const each of [stream, other]) await each.messages.nextEvent("the flags");
    server.answer = refuses(500);
    const before = server.reviewed.length;
    await eventually(() => server.reviewed.length > before + 1, "looks that fail");
    server.answer = (each, exchange) => answerJson(exchange, each === token ? revoked : confirmed(each));

    expect((await stream.ended).code).to.equal(grpcStatus.UNAUTHENTICATED);

    expect(await codeOf(token)).to.equal(grpcStatus.UNAUTHENTICATED);
    server.put("team-a", "checkout", {
      flagSpec: { flags: { g: { state: "ENABLED", variants: { a: 2 } } } },
    });
    expect(await other.messages.nextEvent("an edit")).to.have.nested.property("flags.g");
    expect(stream.messages.size).to.equal(0);
  });
});
