import { writeFileSync } from "node:fs";
import { checks } from "@bunting/cli/internal/check/checks.js";
import type { ClusterSurvey } from "@bunting/cli/internal/check/cluster-survey.js";
import { probeSync, type SyncOutcome } from "@bunting/cli/internal/check/proxy/probe-sync.js";
import { parseServerAddress } from "@bunting/cli/internal/sync/server-address.js";
import { serverAt } from "@bunting/cli/internal/sync/server.js";
import { asProxyStatus } from "@bunting/cli/internal/status/proxy-status.js";
import { ServerCredentials } from "@grpc/grpc-js";
import { expect } from "chai";
import { testTls } from "../support/faulty-api-server/index.js";
import { startFlagdServer } from "../support/flagd-server.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";

const plain = { tls: false, caFile: "", tlsServerName: "", tokenFile: "" };

async function probed(address: string, options: Partial<typeof plain> = {}): Promise<SyncOutcome> {
  const server = serverAt(parseServerAddress(address, 8015), { ...plain, ...options });
  return probeSync({ server }, "team-a/checkout", 5_000, new AbortController().signal);
}

describe("what bunting check finds on a sync port", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  const issuer = new TokenIssuer();
  before(async () => {
    directory = new TempDirectory();
    directory.replace("jwks", issuer.keySet);
    directory.replace("flags.yaml", manifest("checkout", 1, "team-a"));
    const auth = ["--auth=token", "--auth-issuer", issuer.name, "--auth-jwks-file", directory.file("jwks")];
    proxy = await startProxy(directory.path, auth);
  });
  after(async () => {
    await proxy.process.stop("SIGKILL");
    directory.remove();
  });

  it("is a proxy that serves whoever has a good token, also one who may not read the FeatureFlag", async () => {
    const tokenFile = directory.file("token");
    for (const namespace of ["team-a", "team-b"]) {
      writeFileSync(tokenFile, issuer.issue(namespace, "app"));
      expect((await probed(proxy.sync, { tokenFile })).kind, namespace).to.equal("serves");
    }
  });

  it("is one that does not accept a token of somebody else, or none", async () => {
    const tokenFile = directory.file("token");
    writeFileSync(tokenFile, new TokenIssuer().issue("team-a", "app"));
    expect((await probed(proxy.sync, { tokenFile })).kind).to.equal("unauthenticated");
    expect((await probed(proxy.sync)).kind).to.equal("unauthenticated");
  });

  it("is a port that speaks TLS, or does not, or has a certificate that nobody trusts", async () => {
    const credentials = ServerCredentials.createSsl(null, [
      { private_key: testTls.key, cert_chain: testTls.cert },
    ]);
    const document = `{"flags":{}}`;
    const { server, port } = await startFlagdServer({ document, credentials, address: "127.0.0.1:0" });
    try {
      const address = `localhost:${port}`;
      expect((await probed(address, { caFile: testTls.caFile })).kind).to.equal("serves");
      const untrusted = await probed(address, { tls: true });
      expect(untrusted.kind).to.equal("lost");
      expect(untrusted.message).to.contain("Name its authority with --ca-file");
      const inPlaintext = await probed(address);
      expect(inPlaintext).to.include({ kind: "lost" });
      expect(inPlaintext.message).to.contain("--tls");
    } finally {
      server.forceShutdown();
    }
    const unspoken = await probed(proxy.sync, { tls: true });
    expect(unspoken.kind).to.equal("lost");
    expect(unspoken.message).to.match(/speak TLS/);
  });

  it("is asked for a FeatureFlag that it serves: of one that it may not read, it says nothing", async () => {
    const topic = "team-b/checkout";
    const { server, port } = await startFlagdServer({
      document: `{"flags":{}}`,
      credentials: ServerCredentials.createInsecure(),
      isServed: (request) => request.includes(topic),
    });
    const status = asProxyStatus({ topics: [{ topic: "team-a/other" }, { topic, newest: {} }] });
    const sync = { server: serverAt(parseServerAddress(`127.0.0.1:${port}`, 8015), plain) };
    const survey = {
      options: { timeout: 5_000, namespace: "bunting-system" },
      reader: { signal: new AbortController().signal },
      flags: () => Promise.resolve(new Map([["team-a/other", {}]])),
      proxies: () => Promise.resolve([{ name: "one", answer: { kind: "status", status }, sync }]),
    } as unknown as ClusterSurvey;
    try {
      const check = checks.find(({ title }) => title.startsWith("proxies serve flags on their sync ports"));
      expect(await check?.run(survey)).to.deep.equal([]);
    } finally {
      server.forceShutdown();
    }
  });
});
