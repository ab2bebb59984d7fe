import { setTimeout as delay } from "node:timers/promises";
import { status as grpcStatus } from "@grpc/grpc-js";
import { expect } from "chai";
import { AgentConnection, type AgentClientStream } from "../support/agent-client.js";
import { Authority, type CertificatePair } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { manifest, versionOf } from "../support/manifests.js";
import { portOf, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { SecretMount } from "../support/secret-mount.js";
import type { SyncSubscription } from "../support/stock-sync-client.js";
import { Tiers, untilStale, upstreamFailures } from "../support/tiers.js";
import { TokenIssuer } from "../support/token-issuer.js";

const topic = "team-a/checkout";
const spiffe = "spiffe://cluster.local/ns/team-a/sa/edge";

describe("bunting-proxy with --source upstream of a proxy that asks who it is", () => {
  const issuer = new TokenIssuer();
  let tiers: Tiers;
  let mount: SecretMount;
  let authority: Authority;
  let server: CertificatePair;

  before(async () => {
    authority = await Authority.create("tiers");
    server = await authority.issue();
  });
  beforeEach(async () => {
    tiers = new Tiers();
    mount = new SecretMount(files(issuer.issue("team-a", "edge"), await edgeCertificate()));
    tiers.onClose(() => mount.remove());
    edit(0);
    tiers.directory.replace("jwks", issuer.keySet);
  });
  afterEach(() => tiers.close());

  const edgeCertificate = (): Promise<CertificatePair> => authority.issue({ uris: [spiffe] });
  const edit = (version: number): void =>
    tiers.directory.replace("checkout.yaml", manifest("checkout", version, "team-a"));
  const files = (token: string, client: CertificatePair): Record<string, string> => ({
    token,
    "ca.crt": authority.cert,
    "tls.crt": server.cert,
    "tls.key": server.key,
    "client.crt": client.cert,
    "client.key": client.key,
  });
  const root = (...args: readonly string[]): Promise<ProxyProcess> =>
    tiers.root([
      ...["--auth=token", "--authorize=own-namespace", "--auth-issuer", issuer.name],
      ...["--auth-jwks-file", tiers.directory.file("jwks"), "--tls=on"],
      ...["--tls-cert-path", mount.file("tls.crt"), "--tls-key-path", mount.file("tls.key"), ...args],
    ]);
  const withToken = (): string[] => [
    ...["--upstream-ca-file", mount.file("ca.crt")],
    ...["--upstream-token-file", mount.file("token")],
  ];
  /** Another proxy at the leaf, with the first version: it is told of every other, and of each time that the leaf is stale. */
  const observe = async (leaf: ProxyProcess): Promise<AgentClientStream> => {
    const connection = await AgentConnection.open(portOf(leaf));
    tiers.onClose(() => connection.close());
    const stream = connection.stream(false);
    stream.send({ $case: "hello", value: { agent: "test/1", providerId: "", isProxy: true } });
    stream.subscribe(topic);
    // A slow machine may be stale before the first answer.
    while ((await take(stream)) !== 0);
    return stream;
  };
  const take = async (stream: AgentClientStream): Promise<number | string> => {
    const message = await stream.messages.nextEvent("the next version");
    // A topic that was stale before the first answer says after it that it is no more.
    if (message.$case === "freshness" && !message.value.isStale) return "fresh";
    if (message.$case !== "snapshot") return message.$case;
    stream.ack(topic, message.value.version?.digest);
    return versionOf(message.value.document.toString());
  };
  /** The next version, which must come without a word of staleness before it. */
  const nextVersion = async (stream: AgentClientStream): Promise<number | string> => {
    for (;;) {
      const next = await take(stream);
      if (next !== "tier" && next !== "history" && next !== "fresh") return next;
    }
  };
  const renewals = ({ process }: ProxyProcess): number =>
    process.logs.filter(({ msg }) => msg.startsWith("presents a new token")).length;

  it("passes on every edit while its token is replaced, and is never stale", async function () {
    this.timeout(120_000);
    const leaf = await tiers.tier((await root()).sync, withToken());
    const stream = await observe(leaf);
    let replacedMs = performance.now();
    for (let version = 1; renewals(leaf) < 3; version++) {
      if (performance.now() - replacedMs >= 1_000) {
        replacedMs = performance.now();
        mount.swap(files(issuer.issue("team-a", "edge"), await edgeCertificate()));
      }
      edit(version);
      expect(await nextVersion(stream)).to.equal(version);
    }
    expect(await readMetric(leaf.management, "bunting_proxy_upstream_streams")).to.equal(1);
    expect(leaf.process.logs.filter(({ level }) => level !== "info")).to.deep.equal([]);
  });

  it("goes on with the token that it has when the upstream refuses the next one, says so, and takes the one after that", async function () {
    this.timeout(60_000);
    const leaf = await tiers.tier((await root()).sync, withToken());
    const stream = await observe(leaf);
    const stranger = new TokenIssuer("stranger");
    mount.swap(files(stranger.issue("team-a", "edge"), await edgeCertificate()));
    const refused = (): boolean => leaf.process.output.includes("does not accept the new token");
    await eventually(refused, "the log says that the new token is refused");
    edit(1);
    expect(await nextVersion(stream)).to.equal(1);
    mount.swap(files(issuer.issue("team-a", "edge"), await edgeCertificate()));
    await eventually(() => renewals(leaf) === 1, "the next token is used");
    edit(2);
    expect(await nextVersion(stream)).to.equal(2);
    expect(await upstreamFailures(leaf, "unauthenticated")).to.equal(0);
  });

  it("shows a refusal of the first level on the levels below as what it is, and in their logs", async () => {
    const middle = await tiers.tier((await root()).sync, withToken());
    const leaf = await tiers.tier(middle.sync);
    tiers.subscribe(leaf, "team-b/payment");
    await untilStale(leaf, 1);
    const denial = "may not read the FeatureFlag team-b/payment";
    const reason = async (): Promise<string> => (await fetch(`${leaf.management}/status?format=json`)).text();
    await eventually(async () => (await reason()).includes(denial), "the reason on /status");
    // Longer than a topic waits for its first answer.
    const stream = await observe(leaf);
    edit(1);
    expect(await nextVersion(stream)).to.equal(1);
    await delay(1_500);
    edit(2);
    expect(await nextVersion(stream), "what comes next").to.equal(2);
    expect(await reason()).to.contain(denial);
    expect(middle.process.output).to.contain(denial);
  });

  it("is known by its client certificate", async () => {
    const first = await root("--tls-client-auth=require", "--tls-client-ca-path", mount.file("ca.crt"));
    const withCa = ["--upstream-ca-file", mount.file("ca.crt")];
    const leaf = await tiers.tier(first.sync, [
      ...withCa,
      ...["--upstream-client-cert-file", mount.file("client.crt")],
      ...["--upstream-client-key-file", mount.file("client.key")],
    ]);
    const stream = await observe(leaf);
    edit(1);
    expect(await nextVersion(stream)).to.equal(1);
    const nameless = await tiers.tier(first.sync, withCa);
    const failed = async (): Promise<boolean> => (await upstreamFailures(nameless, "unavailable")) > 0;
    await eventually(failed, "a proxy without a certificate is refused");
    expect(await readMetric(nameless.management, "bunting_proxy_upstream_streams")).to.equal(0);
  });

  it("refuses at the leaf callers of other namespaces whom only an annotation lets read, and says so when it starts", async () => {
    const shared = manifest("checkout", 1, "team-a").replace(
      "metadata:",
      "metadata:\n  annotations: { bunting.dev/readers: team-b }",
    );
    tiers.directory.replace("checkout.yaml", shared);
    const identity = [
      ...["--auth=token", "--authorize=own-namespace", "--auth-issuer", issuer.name],
      ...["--auth-jwks-file", tiers.directory.file("jwks")],
    ];
    const first = await tiers.root(identity);
    const leaf = await tiers.tier((await tiers.root()).sync, identity);
    const subscribe = (proxy: ProxyProcess, namespace: string): SyncSubscription =>
      tiers.client(proxy).subscribe({ selector: topic, token: issuer.issue(namespace, "app") });
    await subscribe(first, "team-b").messages.nextEvent("the flags, by the annotation");
    await subscribe(leaf, "team-a").messages.nextEvent("the flags of its own namespace");
    expect((await subscribe(leaf, "team-b").ended).code).to.equal(grpcStatus.PERMISSION_DENIED);
    expect(leaf.process.output).to.contain("bunting.dev/readers lets nobody read here");
    expect(first.process.output).not.to.contain("bunting.dev/readers lets nobody read here");
  });
});
