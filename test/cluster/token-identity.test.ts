import { status as grpcStatus } from "@grpc/grpc-js";
import { expect } from "chai";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { eventually } from "../support/event-queue.js";
import { startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { RawSyncConnection } from "../support/raw-sync-client.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { openToken, signToken, signWithSecret, unsigned } from "./support/forge-token.js";
import { flagSpec } from "./support/proxy-under-test.js";
import type { ServiceAccount } from "./support/service-account.js";
import { restartableCluster } from "./support/use-cluster.js";

const audiences = ["bunting"];

describe("the proxy with --auth=token, on a real API server", function () {
  this.timeout(180_000);
  const cluster = restartableCluster();
  let namespace: string;
  let topic: string;
  let proxyAccount: ServiceAccount;
  let workload: ServiceAccount;
  let proxy: ProxyProcess;
  let client: StockSyncClient;
  /** A good token. */
  let token: string;
  /** Every token that was presented: none may be in a log. */
  const presented: string[] = [];

  before(async () => {
    namespace = await cluster().createNamespace();
    topic = `${namespace}/checkout`;
    proxyAccount = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(proxyAccount);
    workload = await cluster().createServiceAccountToken(namespace, "checkout");
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(1));
    token = await workload.requestToken({ audiences });
  });

  beforeEach(async () => {
    proxy = await start("token");
    client = new StockSyncClient(proxy.sync);
  });

  afterEach(async () => {
    client.close();
    const { output } = proxy.process;
    expect(await proxy.process.stop("SIGKILL"), output).to.equal(null);
    for (const each of presented.splice(0))
      for (const part of each.split("."))
        if (part.length > 16) expect(output).to.not.include(part.slice(0, 16));
  });

  function start(auth: "token" | "optional"): Promise<ProxyProcess> {
    return startProxyInPod(proxyAccount, ["--auth", auth, "--max-topics-per-connection", "0"]);
  }

  function subscribe(bearer?: string): ReturnType<StockSyncClient["subscribe"]> {
    if (bearer !== undefined) presented.push(bearer);
    return client.subscribe({ selector: topic, ...(bearer === undefined ? {} : { token: bearer }) });
  }

  async function expectServed(bearer?: string): Promise<void> {
    const stream = subscribe(bearer);
    const first = await Promise.race([stream.messages.nextEvent("flags"), stream.ended]);
    expect(first, proxy.process.output).to.have.property("flags");
    stream.cancel();
  }

  async function expectRefused(bearer: string | undefined, reason: string): Promise<string> {
    const line = `bunting_proxy_access_refused_identities_total{reason="${reason}"}`;
    const before = await metric(line);
    const { code, details } = await subscribe(bearer).ended;
    expect(code, details).to.equal(grpcStatus.UNAUTHENTICATED);
    expect(await metric(line), `${details}: counted as ${reason}`).to.equal(before + 1);
    return details;
  }

  async function metric(line: string): Promise<number> {
    const text = await (await fetch(`${proxy.management}/metrics`)).text();
    const found = text.split("\n").find((each) => each.startsWith(`${line} `));
    return Number(found?.slice(line.length + 1) ?? 0);
  }

  /** The key of the API server. */
  const signingKey = (): string => readFileSync(path.join(cluster().directory, "accounts.key"), "utf8");
  const publicKey = (): string => readFileSync(path.join(cluster().directory, "accounts.pub"), "utf8");

  it("serves a ServiceAccount that presents its projected token, and tells others what to present", async () => {
    const stream = subscribe(token);
    await stream.messages.nextEvent("flags");
    const status = await (await fetch(`${proxy.management}/status`)).json();
    expect(status)
      .to.have.nested.property("topics[0]")
      .that.deep.includes({ topic, readers: { [workload.user]: 1 } });
    stream.cancel();
    const details = await expectRefused(undefined, "credentials_missing");
    expect(details).to.include("ServiceAccount token with the audience bunting");
  });

  it("refuses each token that is not for it, no longer or not yet valid, or not the API server's", async () => {
    const opened = openToken(token);
    const nowS = Math.floor(Date.now() / 1_000);
    const withClaims = (claims: Readonly<Record<string, unknown>>): string =>
      signToken({ header: opened.header, claims: { ...opened.claims, ...claims } }, signingKey());
    // What is forged here is accepted if nothing is wrong with it.
    await expectServed(withClaims({ jti: "another" }));

    await expectRefused(await workload.requestToken(), "token_audience");
    await expectRefused(withClaims({ exp: nowS - 11 }), "token_expired");
    await expectRefused(withClaims({ nbf: nowS + 60 }), "token_not_yet_valid");
    await expectRefused(withClaims({ iss: "https://elsewhere" }), "token_issuer");
    await expectRefused(withClaims({ sub: `system:serviceaccount:${namespace}:another` }), "token_subject");
    const { privateKey: anotherKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    await expectRefused(signToken(opened, pem(anotherKey)), "token_signature");
    const altered = { ...opened.claims, sub: `system:serviceaccount:${namespace}:another` };
    await expectRefused(
      `${unsigned({ header: opened.header, claims: altered })}.${opened.signature}`,
      "token_signature",
    );
    const none = unsigned({ header: { ...opened.header, alg: "none" }, claims: opened.claims });
    await expectRefused(`${none}.`, "token_malformed");
    await expectRefused(`${none}.${opened.signature}`, "token_algorithm");
    await expectRefused(signWithSecret(opened, publicKey()), "token_algorithm");
    await expectServed(token);
  });

  it("ends a stream when its token expires, while one with a renewed token goes on", async () => {
    const opened = openToken(token);
    const exp = Math.floor(Date.now() / 1_000) + 1;
    const short = signToken({ header: opened.header, claims: { ...opened.claims, exp } }, signingKey());
    const old = subscribe(short);
    await old.messages.nextEvent("flags");
    // Make before break: the new stream is open before the old one ends.
    const renewed = subscribe(token);
    await renewed.messages.nextEvent("flags");
    const { code, details } = await old.ended;
    expect(code).to.equal(grpcStatus.UNAUTHENTICATED);
    expect(details).to.include("expired");
    expect(Date.now(), "not before it expired").to.be.at.least(exp * 1_000);
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(2));
    await renewed.messages.nextEvent("the edit");
    renewed.cancel();
  });

  it("serves both with --auth=optional, and counts them, but not those whose token proves nothing", async () => {
    await proxy.process.stop("SIGKILL");
    client.close();
    proxy = await start("optional");
    client = new StockSyncClient(proxy.sync);
    await expectServed(token);
    await expectServed();
    await expectRefused(await workload.requestToken(), "token_audience");
    expect(await metric(`bunting_proxy_access_admitted_total{identity="token"}`)).to.equal(1);
    expect(await metric(`bunting_proxy_access_admitted_total{identity="anonymous"}`)).to.equal(1);
  });

  it("keeps 1,000 streams while the API server is away, and lets in only who it can verify", async () => {
    const connections = await Promise.all(
      Array.from({ length: 20 }, () => RawSyncConnection.open(Number(proxy.sync.split(":")[1]))),
    );
    const headers = { authorization: `Bearer ${token}` };
    const streams = connections.flatMap((connection) =>
      Array.from({ length: 50 }, () => connection.subscribe(topic, headers)),
    );
    await eventually(() => streams.every(({ last }) => last !== undefined), "flags at 1,000 streams");
    await cluster().kill("kube-apiserver");
    // The signature of this one can be verified, that of a key which nobody knows can't.
    const opened = openToken(token);
    await expectServed(token);
    const unknown = signToken(
      { header: { ...opened.header, kid: "unknown" }, claims: opened.claims },
      signingKey(),
    );
    presented.push(unknown);
    const { code } = await client.subscribe({ selector: topic, token: unknown }).ended;
    expect(code, "it may try again").to.equal(grpcStatus.UNAVAILABLE);
    await expectRefused(undefined, "credentials_missing");
    expect(streams.filter(({ status, resetCode }) => (status ?? resetCode) !== undefined)).to.deep.equal([]);

    await cluster().startApiServer();
    await cluster().untilServed();
    await cluster().putFeatureFlag(namespace, "checkout", flagSpec(3));
    const before = streams.map(({ versions }) => versions.length);
    await eventually(
      () => streams.every(({ versions }, index) => versions.length > (before[index] ?? 0)),
      "the edit at 1,000 streams",
    );
    expect(streams.filter(({ status, resetCode }) => (status ?? resetCode) !== undefined)).to.deep.equal([]);
    for (const connection of connections) connection.close();
  });

  it("accepts tokens of a new key and of the old one after a rotation, and guessed keys make it read few times", async () => {
    await expectServed(token);
    const keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const files = ["new.key", "new.pub"].map((name) => path.join(cluster().directory, name));
    const [keyFile = "", publicFile = ""] = files;
    writeFileSync(keyFile, pem(keys.privateKey), { mode: 0o600 });
    writeFileSync(publicFile, keys.publicKey.export({ type: "spki", format: "pem" }));
    await cluster().restartApiServer([
      `--service-account-signing-key-file=${keyFile}`,
      `--service-account-key-file=${publicFile}`,
    ]);
    await cluster().untilServed();
    const newToken = await workload.requestToken({ audiences });
    expect(openToken(newToken).header["kid"]).to.not.equal(openToken(token).header["kid"]);
    const startedMs = Date.now();
    const reads = `bunting_proxy_access_key_reads_total{result="read"}`;
    const readsBefore = await metric(reads);
    const opened = openToken(token);
    const guesses = Array.from({ length: 200 }, (_, index) =>
      signToken({ header: { ...opened.header, kid: `guess-${index}` }, claims: opened.claims }, signingKey()),
    );
    const guessed = guesses.map((guess) => subscribe(guess).ended);
    await expectServed(newToken);
    await expectServed(token);
    const codes = new Set((await Promise.all(guessed)).map(({ code }) => code));
    expect([...codes]).to.deep.equal([grpcStatus.UNAUTHENTICATED]);
    const seconds = (Date.now() - startedMs) / 1_000;
    expect((await metric(reads)) - readsBefore)
      .to.be.at.least(1)
      .and.at.most(1 + seconds / 5);
  });
});

function pem(key: KeyObject): string {
  return key.export({ type: "pkcs1", format: "pem" }) as string;
}
