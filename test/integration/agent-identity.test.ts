import { spawnSync } from "node:child_process";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { Authority, type CertificatePair } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { scaled } from "../support/scale.js";
import { SecretMount } from "../support/secret-mount.js";
import type { ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";

const [namespace, name] = ["team-a", "checkout"];
const renewals = (result: string): string =>
  `bunting_agent_sync_stream_renewals_total{source="0",result="${result}"}`;
const failures = (reason: string): string =>
  `bunting_agent_sync_failures_total{source="0",reason="${reason}"}`;

/** One flag that changes among many, so that an edit is smaller than the document. */
function manifest(version: number): string {
  const other = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };
  return JSON.stringify({
    apiVersion: "core.openfeature.dev/v1beta1",
    kind: "FeatureFlag",
    metadata: { name, namespace },
    spec: {
      flagSpec: {
        flags: {
          version: { state: "ENABLED", variants: { now: version }, defaultVariant: "now" },
          ...Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`flag-${i}`, other])),
        },
      },
    },
  });
}

describe("bunting-agent with a token and TLS", () => {
  const flags = new TempDirectory();
  const issuer = new TokenIssuer();
  const authority = new Promise<Authority>((resolve) => resolve(Authority.create()));
  /** Everything that must never be shown. */
  const secrets: string[] = [];
  /** Everything that was. */
  const shown: string[] = [];
  const running: ServiceProcess[] = [];
  let mount: SecretMount;

  beforeEach(async () => {
    flags.replace("checkout.json", manifest(0));
    flags.replace("jwks", issuer.keySet);
    mount = new SecretMount(await files());
  });
  afterEach(async () => {
    for (const process of running.splice(0).reverse()) {
      expect(await process.stop(), process.output).to.equal(0);
      shown.push(process.output);
    }
    mount.remove();
    for (const secret of secrets.splice(0))
      for (const part of secret.split(".")) expect(shown.join("\n")).not.to.contain(part);
    shown.splice(0);
  });
  after(() => flags.remove());

  function token(expiresInSeconds?: number, of = namespace): string {
    const one = issuer.issue(of, "app", expiresInSeconds);
    // The header is the same in all.
    secrets.push(one.slice(one.indexOf(".") + 1));
    return one;
  }

  /** What a Pod has mounted. */
  async function files(
    parts: { token?: string; pair?: CertificatePair } = {},
  ): Promise<Record<string, string>> {
    const one = await authority;
    const pair = parts.pair ?? (await one.issue());
    return { token: parts.token ?? token(), "ca.crt": one.cert, "tls.crt": pair.cert, "tls.key": pair.key };
  }

  async function proxy(...args: readonly string[]): Promise<ProxyProcess> {
    const started = await startProxy(flags.path, [
      ...["--drain-delay=0", "--drain-window=0", "--auth=token", "--auth-issuer", issuer.name],
      ...["--auth-jwks-file", flags.file("jwks"), "--tls=on"],
      ...["--tls-cert-path", mount.file("tls.crt"), "--tls-key-path", mount.file("tls.key"), ...args],
    ]);
    running.push(started.process);
    return started;
  }

  /** As an operator starts it that knows nothing of tokens, and an injector has set its environment. */
  async function agent(address: string): Promise<AgentProcess> {
    const started = await startAgent(
      [
        "--debug",
        "--sources",
        JSON.stringify([
          {
            uri: address.replace("127.0.0.1", "localhost"),
            provider: "grpc",
            selector: `core.openfeature.dev/${namespace}/${name}`,
          },
        ]),
      ],
      { env: { BUNTING_TOKEN_FILE: mount.file("token"), BUNTING_CA_FILE: mount.file("ca.crt") } },
    );
    running.push(started.process);
    return started;
  }

  async function version({ ofrep }: AgentProcess): Promise<number> {
    const answer = await fetch(`${ofrep}/ofrep/v1/evaluate/flags/version`, { method: "POST" });
    return ((await answer.json()) as { value: number }).value;
  }

  /** The value of a series, 0 while there is none. */
  const metric = ({ management }: AgentProcess, series: string): Promise<number> =>
    readMetric(management, series).catch(() => 0);

  /** What the agent shows: remembered, to be searched for secrets. */
  async function look({ management, process }: AgentProcess): Promise<string> {
    const pages = await Promise.all(
      ["readyz", "metrics"].map(async (page) => (await fetch(`${management}/${page}`)).text()),
    );
    const ps = spawnSync("cat", [`/proc/${process.pid}/cmdline`]).stdout.toString();
    shown.push(...pages, ps);
    return pages.join("\n");
  }

  it("gets its flags, and shows neither the token nor a part of it", async () => {
    const one = await agent((await proxy()).sync);
    await eventually(() => isReady(one.management), "the agent is ready");
    expect(await version(one)).to.equal(0);
    expect(await look(one)).to.contain("(bunting.sync.v1)");
  });

  it("misses no version while its token is replaced every second, with one document as a whole", async function () {
    this.timeout(120_000);
    const one = await agent((await proxy()).sync);
    await eventually(() => isReady(one.management), "the agent is ready");
    const log = { missed: [] as number[], tokens: 0 };
    let replacedMs = performance.now();
    const enough = scaled(5, 3);
    for (let edit = 1; (await metric(one, renewals("taken_over"))) < enough; edit++) {
      if (performance.now() - replacedMs >= 1_000) {
        replacedMs = performance.now();
        mount.swap(await files({ token: token() }));
        log.tokens++;
      }
      flags.replace("checkout.json", manifest(edit));
      await eventually(async () => (await version(one)) === edit, `version ${edit} is served`).catch(() =>
        log.missed.push(edit),
      );
    }
    expect(log.missed).to.deep.equal([]);
    expect(log.tokens).to.be.at.least(enough);
    expect(await metric(one, renewals("failed"))).to.equal(0);
    const page = await look(one);
    // It was connected all the time, and got everything but the first document as deltas.
    expect(page).not.to.match(/bunting_agent_sync_failures_total\{source="0"/);
    expect(page).not.to.match(/bunting_agent_sync_nacks_total\{/);
    expect(await metric(one, 'bunting_agent_sync_messages_total{source="0",kind="snapshot"}')).to.equal(1);
    expect(await metric(one, 'bunting_agent_sync_connected{source="0"}')).to.equal(1);
  });

  it("renews before its token expires, and lets the stream go on where the proxy ends those that have expired", async function () {
    this.timeout(60_000);
    const short = token(12);
    mount.swap(await files({ token: short }));
    const one = await agent((await proxy()).sync);
    await eventually(() => isReady(one.management), "the agent is ready");
    const expiresMs = Date.now() + 12_000;
    // At 80 % of its life, as the kubelet does, or later on a busy machine.
    await eventually(() => Date.now() > expiresMs - 6_000, "half of its life has passed");
    mount.swap(await files({ token: token() }));
    await eventually(async () => (await metric(one, renewals("taken_over"))) === 1, "the stream is renewed");
    await eventually(() => Date.now() > expiresMs + 2_000, "the first token has expired");
    flags.replace("checkout.json", manifest(7));
    await eventually(async () => (await version(one)) === 7, "the edit is served");
    expect(await metric(one, failures("unauthenticated"))).to.equal(0);
    await look(one);
  });

  it("serves what it has when its token is refused, says what to do, and goes on with a good one", async () => {
    const { sync } = await proxy();
    const one = await agent(sync);
    await eventually(() => isReady(one.management), "the agent is ready");
    // Of another cluster.
    const forged = new TokenIssuer().issue(namespace, "app");
    secrets.push(forged.slice(forged.indexOf(".") + 1));
    mount.swap(await files({ token: forged }));
    await eventually(async () => (await metric(one, renewals("failed"))) > 0, "the renewal fails");
    expect(await metric(one, failures("unauthenticated"))).to.equal(0);
    const other = await agent(sync);
    const { advice } = await other.process.nextLog(
      "the source refuses this agent, or its credentials can't be read; retrying",
    );
    expect(advice).to.contain("must have a token that the server accepts");
    await eventually(async () => (await metric(other, failures("unauthenticated"))) > 1, "another attempt");
    expect(await look(other)).to.contain("UNAUTHENTICATED");
    expect(other.process.output).not.to.contain("connected to the source");
    expect(await isReady(other.management)).to.equal(false);
    flags.replace("checkout.json", manifest(3));
    await eventually(async () => (await version(one)) === 3, "the stream before goes on");

    mount.swap(await files({ token: token() }));

    await eventually(() => isReady(other.management), "the other is ready");
    await eventually(async () => (await metric(one, renewals("taken_over"))) === 1, "the stream is renewed");
    await look(one);
  });

  it("goes on when the proxy's certificate is renewed and when the proxy restarts, from what it holds", async function () {
    this.timeout(60_000);
    const first = await proxy();
    const port = first.sync.slice(first.sync.lastIndexOf(":") + 1);
    const one = await agent(first.sync);
    await eventually(() => isReady(one.management), "the agent is ready");
    mount.swap(await files());
    await first.process.nextLog("the certificate has changed; new connections get it");
    flags.replace("checkout.json", manifest(1));
    await eventually(async () => (await version(one)) === 1, "the open connection lives on");
    running.splice(running.indexOf(first.process), 1);
    expect(await first.process.stop()).to.equal(0);
    expect(await version(one)).to.equal(1);

    await proxy("--port", port);

    await eventually(
      async () => (await metric(one, 'bunting_agent_sync_messages_total{source="0",kind="unchanged"}')) >= 1,
      "it is connected again, and has the newest",
    );
    // The edit that follows may come as a whole: that is up to a proxy that has just started.
    expect(await metric(one, 'bunting_agent_sync_messages_total{source="0",kind="snapshot"}')).to.equal(1);
    flags.replace("checkout.json", manifest(2));
    await eventually(async () => (await version(one)) === 2, "the edit is served");
    await look(one);
  });

  it("presents a client certificate from the files of its environment", async () => {
    const ca = mount.file("ca.crt");
    const { sync } = await proxy("--tls-client-auth=require", "--tls-client-ca-path", ca);
    const one = await agent(sync);
    expect(await one.process.nextLog("the source is unreachable; retrying")).to.include({
      reason: "unavailable",
    });
    const sources = [{ uri: sync, provider: "grpc", selector: `${namespace}/${name}` }];
    const other = await startAgent(["--sources", JSON.stringify(sources)], {
      env: {
        BUNTING_TOKEN_FILE: mount.file("token"),
        BUNTING_CA_FILE: ca,
        BUNTING_CLIENT_CERT_FILE: mount.file("tls.crt"),
        BUNTING_CLIENT_KEY_FILE: mount.file("tls.key"),
      },
    });
    running.push(other.process);
    await eventually(() => isReady(other.management), "the agent is ready");
    expect(await version(other)).to.equal(0);
    await look(other);
  });
});
