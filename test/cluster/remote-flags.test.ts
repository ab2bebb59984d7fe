import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Condition } from "@bunting/kube";
import { expect } from "chai";
import { proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { runBunting } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { portOf, startProxy, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import type { ApiObject } from "./support/api-client.js";
import { featureFlagPath } from "./support/cluster.js";
import { OperatorHome } from "./support/operator-home.js";
import { createProxyPod, mountStatusTokens } from "./support/told-proxy.js";
import { sharedCluster } from "./support/use-cluster.js";

const seconds = 1_000;
const token = "a-token-of-the-remote";

interface StoredFlag extends ApiObject {
  readonly spec?: object;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

function flag(value: string): object {
  return { state: "ENABLED", variants: { v: value }, defaultVariant: "v" };
}

/** Operator, proxy and agent are real processes, and so is the remote's server; the test is the kubelet, which has the proxy's Pod run. */
describe("flags of a remote, on a real API server", function () {
  this.timeout(120 * seconds);
  const cluster = sharedCluster();
  let home: OperatorHome;
  let proxy: ProxyProcess;
  let agent: AgentProcess;
  let mounted: TempDirectory;
  let remote: Server;
  /** The proxy of another cluster, on a directory. */
  let otherProxy: ProxyProcess;
  let otherFlags: TempDirectory;
  let served: object;
  let authorizations: (string | undefined)[];

  const value = async (key: string): Promise<unknown> => {
    const response = await fetch(`${agent.ofrep}/ofrep/v1/evaluate/flags/${key}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    return ((await response.json()) as { readonly value?: unknown }).value;
  };
  const has = (key: string, expected: unknown): Promise<void> =>
    eventually(async () => (await value(key)) === expected, `${key} is ${String(expected)}`, 60 * seconds);
  const stored = async (): Promise<StoredFlag> =>
    await cluster().api.get(featureFlagPath(home.shop, "flags"));
  const condition = async (type: string): Promise<Condition | undefined> =>
    (await stored()).status?.conditions?.find((each) => each.type === type);
  const isSaid = (type: string, reason: string): Promise<void> =>
    eventually(async () => (await condition(type))?.reason === reason, `${type}: ${reason}`, 60 * seconds);

  before(async () => {
    mounted = new TempDirectory();
    authorizations = [];
    served = { flags: { shared: flag("remote"), theirs: flag("remote") } };
    remote = createServer((request, response) => {
      authorizations.push(request.headers.authorization);
      if (request.headers.authorization !== `Bearer ${token}`) response.writeHead(401).end();
      else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(served));
    });
    await new Promise<void>((resolve) => remote.listen(0, "127.0.0.1", resolve));
    otherFlags = new TempDirectory();
    otherFlags.replace("far.json", JSON.stringify({ flags: { far: flag("there") } }));
    otherProxy = await startProxy(otherFlags.path);
    const [management, sync] = [await freePort(), await freePort()];
    home = await OperatorHome.create(cluster(), [`--proxy-management-port=${management}`, "--proxy=always"]);
    const { namespace } = home.account;
    const account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    const { port } = remote.address() as AddressInfo;
    proxy = await startProxyInPod(account, [
      ...[`--management-port=${management}`, `--port=${sync}`],
      `--status-token-file=${mounted.file("tokens")}`,
      `--remote-hosts=http://localhost:${port}=127.0.0.0/8+::1/128,http://127.0.0.1:${portOf(otherProxy)}=127.0.0.1`,
    ]);
    await home.start("operator-1").leads(60 * seconds);
    await createProxyPod(cluster(), namespace);
    await mountStatusTokens(cluster(), namespace, mounted);
    await cluster().api.create(`/api/v1/namespaces/${home.shop}/secrets`, {
      metadata: { name: "remote", annotations: { "bunting.dev/host": `localhost:${port}` } },
      stringData: { token },
    });
    await home.put("FeatureFlag", "flags", {
      flagSpec: { flags: { shared: flag("own"), ours: flag("own") } },
      remoteFlagProvider: {
        ...{ type: "http", uri: `http://localhost:${port}/flags.json`, strategy: "override" },
        ...{ interval: "5s", credentials: { secretRef: { name: "remote", key: "token" } } },
      },
    });
    agent = await startAgent(proxySources(proxy.sync, `${home.shop}/flags`));
  });
  after(async () => {
    await Promise.all([agent, proxy, otherProxy].map(({ process }) => process.stop("SIGKILL")));
    otherFlags.remove();
    await home.stop();
    remote.closeAllConnections();
    remote.close();
    mounted.remove();
  });

  it("serves the FeatureFlag's own, and says which Role is missing, while the Secret may not be read", async () => {
    await has("shared", "own");
    await isSaid("RemoteSynced", "CredentialsForbidden");
    expect((await condition("CredentialsForbidden"))?.message).to.contain(`${home.shop}/remote`);
    expect(authorizations, "it is asked by nobody").to.deep.equal([]);
  });

  // The commands of docs/operate/remote.md.
  it("serves both, once the owner of the namespace has granted it, and says so", async () => {
    const account = `${home.account.namespace}/proxy`;
    const args = ["grant", "credentials", `${home.shop}/remote`, "--proxy-account", account];
    const { code, out } = await runBunting(args);
    expect(code).to.equal(0);
    await cluster().kubectl(["apply", "-f", "-"], out);
    await has("shared", "remote");
    await has("theirs", "remote");
    await has("ours", "own");
    await cluster().kubectl([
      ...["wait", "--for=condition=RemoteSynced", "featureflag/flags", "-n", home.shop, "--timeout=60s"],
    ]);
    expect(await condition("CredentialsForbidden")).to.equal(undefined);
  });

  it("has the command line say which side a flag is of, and how the remote is", async () => {
    const address = new URL(proxy.management).host;
    const side = async (key: string): Promise<string | undefined> => {
      const args = [`proxy://${proxy.sync}/${home.shop}/flags`, key, "--explain", "--management", address];
      return (await runBunting(["eval", ...args])).out.split("\n")[2];
    };
    expect(await side("shared")).to.equal("remote: the flag is of the remote (synced)");
    expect(await side("ours")).to.equal(
      "local: the flag is of the FeatureFlag itself, and not of the remote (synced)",
    );
    const { out } = await runBunting(["status", "--address", address]);
    expect(out).to.match(/^REMOTE OF .*\n\S+\/flags +synced +\d+ s +1 +2$/m);
    expect(out).to.contain(`of the remote of ${home.shop}/flags: shared, theirs\n`);
  });

  it("brings edits of both sides, and keeps what it had when the remote fails or has no flags any more", async () => {
    served = { flags: { shared: flag("newer"), theirs: flag("remote") } };
    await has("shared", "newer");
    await home.put("FeatureFlag", "flags", {
      ...(await stored()).spec,
      flagSpec: { flags: { shared: flag("own"), ours: flag("edited") } },
    });
    await has("ours", "edited");
    served = { flags: "none" };
    await isSaid("RemoteSynced", "Stale");
    expect(await value("shared")).to.equal("newer");
    served = { flags: { shared: flag("back") } };
    await has("shared", "back");
    expect(await value("theirs"), "it is gone").to.equal(undefined);
  });

  it("follows the proxy of another cluster over gRPC, and keeps what it had while that is away", async () => {
    await home.put("FeatureFlag", "flags", {
      flagSpec: { flags: { ours: flag("own") } },
      remoteFlagProvider: {
        ...{ type: "grpc", uri: `grpc://127.0.0.1:${portOf(otherProxy)}`, selector: "default/far" },
        interval: "5s",
      },
    });
    await has("far", "there");
    otherFlags.replace("far.json", JSON.stringify({ flags: { far: flag("edited") } }));
    await has("far", "edited");
    await isSaid("RemoteSynced", "Synced");
    await otherProxy.process.stop("SIGKILL");
    await isSaid("RemoteSynced", "Stale");
    expect([await value("far"), await value("ours")]).to.deep.equal(["edited", "own"]);
  });
});
