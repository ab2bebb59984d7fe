import { credentials, status as grpcStatus } from "@grpc/grpc-js";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import type { CertificatePair } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { missingOpenssl } from "../support/openssl.js";
import { OpensslAuthority } from "../support/openssl-authority.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { SecretMount } from "../support/secret-mount.js";
import type { ServiceProcess } from "../support/service-process.js";
import { StockSyncClient, type SyncSubscription } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";

const own = "team-a/checkout";
const foreign = "team-b/payment";
const denied = (account: string, topic: string): string =>
  `system:serviceaccount:${account} may not read the FeatureFlag ${topic}`;
const spiffe = (namespace: string, serviceAccount: string): string =>
  `URI:spiffe://cluster.local/ns/${namespace}/sa/${serviceAccount}`;

describe("identity by client certificate", function () {
  this.timeout(120_000);
  const flags = new TempDirectory();
  const issuer = new TokenIssuer();
  const closing: (() => unknown)[] = [];
  const running: ServiceProcess[] = [];
  let authority: OpensslAuthority;
  let other: OpensslAuthority;
  let server: CertificatePair;
  let mount: SecretMount;

  before(function () {
    const missing = missingOpenssl();
    if (missing !== undefined) {
      console.log(missing);
      this.skip();
    }
    [authority, other] = [new OpensslAuthority("workloads"), new OpensslAuthority("other workloads")];
    server = authority.issue("DNS:localhost", "IP:127.0.0.1");
    flags.replace("jwks", issuer.keySet);
  });

  beforeEach(() => {
    edit(1);
    mount = new SecretMount(files(authority.issue(spiffe("team-a", "checkout"))));
  });

  afterEach(async () => {
    while (closing.length > 0) await closing.pop()?.();
    for (const process of running.splice(0).reverse())
      expect(await process.stop(), process.output).to.equal(0);
    mount.remove();
  });

  after(() => {
    for (const one of [authority, other] as (OpensslAuthority | undefined)[]) one?.remove();
    flags.remove();
  });

  /** Both FeatureFlags get this version. */
  function edit(version: number): void {
    for (const topic of [own, foreign]) {
      const [namespace = "", name = ""] = topic.split("/");
      flags.replace(`${name}.yaml`, manifest(name, version, namespace));
    }
  }

  /** What is mounted into proxy and agent. */
  function files(client: CertificatePair, authorities = authority.cert): Record<string, string> {
    return {
      "tls.crt": server.cert,
      "tls.key": server.key,
      "ca.crt": authority.cert,
      "clients.crt": authorities,
      "client.crt": client.cert,
      "client.key": client.key,
    };
  }

  async function proxy(...args: readonly string[]): Promise<ProxyProcess> {
    const started = await startProxy(flags.path, [
      ...["--drain-delay=0", "--drain-window=0", "--auth=token", "--authorize=own-namespace"],
      ...["--auth-jwks-file", flags.file("jwks"), "--auth-issuer", issuer.name],
      ...["--tls=on", "--tls-cert-path", mount.file("tls.crt"), "--tls-key-path", mount.file("tls.key")],
      ...["--tls-client-auth=require", "--tls-client-ca-path", mount.file("clients.crt"), ...args],
    ]);
    running.push(started.process);
    return started;
  }

  async function agent({ sync }: ProxyProcess, topic: string): Promise<AgentProcess> {
    const sources = [{ uri: sync, provider: "grpc", selector: topic }];
    const started = await startAgent(["--sources", JSON.stringify(sources)], {
      env: {
        BUNTING_CA_FILE: mount.file("ca.crt"),
        BUNTING_CLIENT_CERT_FILE: mount.file("client.crt"),
        BUNTING_CLIENT_KEY_FILE: mount.file("client.key"),
      },
    });
    running.push(started.process);
    return started;
  }

  async function readyAgent(of: ProxyProcess): Promise<AgentProcess> {
    const started = await agent(of, own);
    await eventually(() => isReady(started.management), "the agent is ready");
    return started;
  }

  /** A stock client with a certificate, or without one. */
  function subscribe({ sync }: ProxyProcess, topic: string, pair?: CertificatePair): SyncSubscription {
    const [cert, key] = [pair?.cert, pair?.key].map((pem) => (pem === undefined ? null : Buffer.from(pem)));
    const channel = credentials.createSsl(Buffer.from(authority.cert), key, cert);
    const client = new StockSyncClient(sync, {}, channel);
    closing.push(() => client.close());
    return client.subscribe({ selector: topic });
  }

  async function version({ ofrep }: AgentProcess): Promise<unknown> {
    const answer = await fetch(`${ofrep}/ofrep/v1/evaluate/flags/on-off`, { method: "POST" });
    return ((await answer.json()) as { metadata?: { version?: unknown } }).metadata?.version;
  }

  it("serves agents and stock clients the FeatureFlags of their namespace, and refuses them others with a sentence that names both", async () => {
    const one = await proxy();
    const ready = await readyAgent(one);
    expect(await version(ready)).to.equal(1);
    edit(2);
    await eventually(async () => (await version(ready)) === 2, "the edit is served");

    const refused = await agent(one, foreign);

    const line = await refused.process.nextLog(
      "the source refuses this agent, or its credentials can't be read; retrying",
    );
    expect(line["error"]).to.contain(denied("team-a:checkout", foreign));
    expect(await isReady(refused.management)).to.equal(false);
    expect(
      await readMetric(one.management, 'bunting_proxy_access_admitted_total{identity="certificate"}'),
    ).to.be.at.least(2);

    const pair = authority.issue(spiffe("team-a", "checkout"));
    await subscribe(one, own, pair).messages.nextEvent("the flags of its namespace");
    const { code, details } = await subscribe(one, foreign, pair).ended;
    expect(code, "as a stock client sees it").to.equal(grpcStatus.PERMISSION_DENIED);
    expect(details).to.contain(denied("team-a:checkout", foreign));
  });

  it("lets in no client without a certificate with require, and serves it as anonymous only where both are asked for", async () => {
    const required = await subscribe(await proxy(), own).ended;
    expect(required.code, "the handshake fails").to.equal(grpcStatus.UNAVAILABLE);

    const { code, details } = await subscribe(await proxy("--tls-client-auth=request"), own).ended;
    expect(code).to.equal(grpcStatus.UNAUTHENTICATED);
    expect(details).to.contain("present a projected ServiceAccount token");

    const both = await proxy("--tls-client-auth=request", "--auth=optional");
    await subscribe(both, own).messages.nextEvent("the flags");
    const nameless = authority.issue("DNS:somewhere");
    await subscribe(both, own, nameless).messages.nextEvent(
      "the flags, with a certificate that names nobody",
    );
    const known = await subscribe(both, foreign, authority.issue(spiffe("team-a", "checkout"))).ended;
    expect(known.code, "a certificate that names someone counts").to.equal(grpcStatus.PERMISSION_DENIED);
  });

  it("reads the ServiceAccount from URIs of another form if that is asked for, and from no others", async () => {
    const one = await proxy("--auth-certificate-uri=urn:acme:{serviceAccount}@{namespace}");
    const acme = authority.issue("URI:https://acme.test/", "URI:urn:acme:web@team-b");
    await subscribe(one, foreign, acme).messages.nextEvent("the flags of its namespace");
    expect((await subscribe(one, own, acme).ended).details).to.contain(denied("team-b:web", own));
    const usual = await subscribe(one, own, authority.issue(spiffe("team-a", "checkout"))).ended;
    expect(usual.code).to.equal(grpcStatus.UNAUTHENTICATED);
  });

  it("lets streams go on when the files have another certificate, which connections that begin then are known by", async () => {
    const one = await proxy();
    const ready = await readyAgent(one);
    mount.swap(files(authority.issue(spiffe("team-b", "payment"))));
    const later = await agent(one, foreign);
    await eventually(() => isReady(later.management), "another agent is served by the new certificate");
    edit(2);
    await eventually(async () => (await version(ready)) === 2, "the stream of the first goes on");

    const port = one.sync.slice(one.sync.lastIndexOf(":") + 1);
    running.splice(running.indexOf(one.process), 1);
    expect(await one.process.stop()).to.equal(0);
    await proxy("--port", port);

    await eventually(
      () => ready.process.output.includes(denied("team-b:payment", own)),
      "the first agent comes back with the new certificate, and is refused",
    );
    expect(await version(ready), "it serves what it has").to.equal(2);
    edit(3);
    await eventually(async () => (await version(later)) === 3, "the other is served");
  });

  it("ends the streams of clients whose authority was removed, within a minute, and no others", async () => {
    const kept = authority.issue(spiffe("team-a", "checkout"));
    const removed = other.issue(spiffe("team-a", "checkout"));
    mount.swap(files(kept, authority.cert + other.cert));
    const one = await proxy();
    const [stays, ends] = [subscribe(one, own, kept), subscribe(one, own, removed)];
    for (const stream of [stays, ends]) await stream.messages.nextEvent("the flags");
    const removedMs = performance.now();

    mount.swap(files(kept));

    const { code, details } = await ends.ended;
    expect(performance.now() - removedMs).to.be.below(60_000);
    expect(code).to.equal(grpcStatus.UNAVAILABLE);
    expect(details).to.contain("the client's certificate is no longer trusted");
    expect((await subscribe(one, own, removed).ended).code).to.equal(grpcStatus.UNAVAILABLE);
    edit(2);
    await stays.messages.nextEvent("the edit");
  });
});
