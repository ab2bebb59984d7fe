import { expect } from "chai";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Agent, request, type RequestOptions } from "node:https";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { EventQueue, eventually } from "../support/event-queue.js";
import { Cluster, featureFlagPath } from "./support/cluster.js";
import type { ServiceAccount } from "./support/service-account.js";
import { freshCluster } from "./support/use-cluster.js";

/** What the other tests rely on: that the cluster does what its methods say, and leaves nothing behind. */
describe("the cluster of the tests", () => {
  describe("with an API server that may be restarted", () => {
    const asStarted = ["--watch-cache=false"];
    const cluster = freshCluster({ controllerManager: true, apiServerFlags: asStarted });
    let namespace: string;
    let account: ServiceAccount;
    before(async () => {
      namespace = await cluster().createNamespace();
      account = await cluster().createServiceAccountToken(namespace, "watcher");
      await cluster().grantStockRole(account);
    });

    it("counts the open watches of one user, and no others", async () => {
      const watches = [
        await watch(cluster(), account.token),
        await watch(cluster(), account.token, namespace),
      ];
      const other = await cluster().createServiceAccountToken(namespace, "somebody-else");
      await cluster().api.request("GET", "/apis/core.openfeature.dev/v1beta1/featureflags", {
        token: other.token,
      });
      await cluster().api.request("GET", `${featureFlagPath()}?watch=1&timeoutSeconds=1`);
      expect(
        cluster()
          .openWatches(account)
          .map(({ uri }) => uri),
      ).to.deep.equal([`${featureFlagPath()}?watch=1`, `${featureFlagPath(namespace)}?watch=1`]);
      expect(cluster().openWatches(other)).to.deep.equal([]);
      expect(cluster().requests(other)).to.have.length(1);
      expect(cluster().requests(other)[0]).to.include({ verb: "list", status: 403 });
      watches[0]?.close();
      await eventually(() => cluster().openWatches(account).length === 1, "one watch is left");
      watches[1]?.close();
      await eventually(() => cluster().openWatches(account).length === 0, "no watch is left");
    });

    it("gives a ServiceAccount the directory that pods have, with a token that works, and rotates it", async () => {
      expect(readdirSync(account.directory).sort()).to.deep.equal(["ca.crt", "namespace", "token"]);
      expect(readFileSync(path.join(account.directory, "namespace"), "utf8")).to.equal(namespace);
      const before = account.token;
      await account.rotate(600);
      expect(account.token).not.to.equal(before);
      expect(readFileSync(path.join(account.directory, "token"), "utf8")).to.equal(account.token);
      const { status } = await cluster().api.request("GET", featureFlagPath(), { token: account.token });
      expect(status).to.equal(200);
    });

    it("revokes permissions", async () => {
      const other = await cluster().createServiceAccountToken(namespace, "for-a-while");
      const status = async (): Promise<number> =>
        (await cluster().api.request("GET", featureFlagPath(), { token: other.token })).status;
      await cluster().grantStockRole(other);
      await eventually(async () => (await status()) === 200, "the role counts");
      await cluster().deleteStockRole(other);
      await eventually(async () => (await status()) === 403, "the role no longer counts");
    });

    it("finalizes a deleted namespace, by its controller-manager", async () => {
      const doomed = await cluster().createNamespace();
      await cluster().putFeatureFlag(doomed, "gone-with-it", { flags: {} });
      await cluster().api.delete(`/api/v1/namespaces/${doomed}`);
      const isGone = async (): Promise<boolean> =>
        (await cluster().api.request("GET", `/api/v1/namespaces/${doomed}`)).status === 404;
      await eventually(isGone, "the namespace is gone", 40_000);
    });

    it("drops history on compaction: a resumed watch is answered 410", async () => {
      const first = await cluster().putFeatureFlag(namespace, "compacted", { flags: {} });
      await cluster().putFeatureFlag(namespace, "compacted", { flags: {}, metadata: { version: "2" } });
      const resume = `${featureFlagPath(namespace)}?watch=1&timeoutSeconds=1&resourceVersion=${first.metadata.resourceVersion}`;
      expect((await cluster().api.request("GET", resume)).text).to.contain('"MODIFIED"');
      await cluster().putFeatureFlag(namespace, "compacted", { flags: {} });
      await cluster().compact();
      const { status, text } = await cluster().api.request("GET", resume);
      expect(status === 200 ? text : String(status)).to.match(/^\{"type":"ERROR".*"code":410\}|^410$/);
    });

    it("restarts the API server on its port, with all its data", async () => {
      const { port, certificateAuthority } = cluster();
      await cluster().putFeatureFlag(namespace, "kept", { flags: {} });
      const open = await watch(cluster(), account.token);
      await cluster().restartApiServer();
      await cluster().untilServed();
      await open.closed;
      expect(cluster().openWatches(account)).to.deep.equal([]);
      expect([cluster().port, cluster().certificateAuthority]).to.deep.equal([port, certificateAuthority]);
      const kept = await cluster().api.get(featureFlagPath(namespace, "kept"));
      expect(kept["spec"]).to.deep.equal({ flagSpec: { flags: {} } });
    });

    it("settles after it was killed, and restarts only if it was or if its flags differ", async () => {
      const pid = cluster().pidOf("kube-apiserver");
      await cluster().settle(asStarted);
      expect(cluster().pidOf("kube-apiserver")).to.equal(pid);
      await cluster().kill("kube-apiserver");
      await cluster().kill("etcd");
      await cluster().settle(asStarted);
      const next = cluster().pidOf("kube-apiserver");
      await cluster().settle([]);
      expect(cluster().pidOf("kube-apiserver")).not.to.equal(next);
      expect((await cluster().listFeatureFlags()).items).not.to.be.empty;
    });

    it("starts the API server with other flags: WatchList may be refused", async () => {
      const watchList = (isOn: boolean): readonly string[] => [`--feature-gates=WatchList=${isOn}`];
      const initialEvents = `${featureFlagPath()}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1`;
      await cluster().restartApiServer(watchList(false));
      await cluster().untilServed();
      expect((await cluster().api.request("GET", initialEvents)).status).to.equal(422);
      // Named, because in 1.33 it is off by default.
      await cluster().restartApiServer(watchList(true));
      await cluster().untilServed();
      expect((await cluster().api.request("GET", initialEvents)).text).to.contain(
        "k8s.io/initial-events-end",
      );
    });

    it("goes back to a copy of etcd, resourceVersions too", async () => {
      await cluster().putFeatureFlag(namespace, "restored", { flags: {}, metadata: { version: "old" } });
      const copy = await cluster().saveEtcd();
      const flagSpec = (version: number): unknown => ({ flags: {}, metadata: { version: String(version) } });
      let newest = 0;
      for (let version = 0; version < 60; version++) {
        const { metadata } = await cluster().putFeatureFlag(namespace, "restored", flagSpec(version));
        newest = Number(metadata.resourceVersion);
      }
      await cluster().restoreEtcd(copy);
      await cluster().untilServed();
      const list = await cluster().listFeatureFlags(namespace);
      expect(Number(list.metadata.resourceVersion)).to.be.lessThan(newest);
      const restored = list.items.find((item) => item.metadata.name === "restored");
      expect(restored?.["spec"]).to.deep.equal({ flagSpec: { flags: {}, metadata: { version: "old" } } });
    });

    it("forgets everything when etcd is wiped, and serves the resource types again", async () => {
      await cluster().wipeEtcd();
      expect((await cluster().listFeatureFlags()).items).to.deep.equal([]);
      expect((await cluster().api.request("GET", `/api/v1/namespaces/${namespace}`)).status).to.equal(404);
      expect(
        (await cluster().api.request("GET", featureFlagPath(), { token: account.token })).status,
      ).to.equal(401);
    });

    it("deletes a resource type and installs it again", async () => {
      await cluster().deleteCrd();
      await cluster().installCrds();
      expect((await cluster().listFeatureFlags()).items).to.deep.equal([]);
    });

    it("stops answering when it is suspended", async () => {
      await cluster().suspend("kube-apiserver");
      const answer = cluster().api.get("/version");
      const first = await Promise.race([answer.then(() => "an answer"), delay(300, "nothing")]);
      cluster().resume("kube-apiserver");
      expect(first).to.equal("nothing");
      await answer;
    });

    it("reports the API server's memory", () => {
      expect(cluster().rssBytes()).to.be.within(50 * 2 ** 20, 2 * 2 ** 30);
    });
  });

  it("shows the API server's log when that does not start", async () => {
    const before = Cluster.running.size;
    const error = await Cluster.start({ apiServerFlags: ["--no-such-flag"] }).then(
      () => undefined,
      (reason: unknown) => reason as Error,
    );
    expect(error?.message).to.contain("kube-apiserver has ended").and.contain("unknown flag: --no-such-flag");
    expect(Cluster.running.size).to.equal(before);
  });

  it("leaves nothing behind when the test run is killed", async () => {
    const script = `
      import { Cluster } from ${JSON.stringify(pathToFileURL(path.join(import.meta.dirname, "support/cluster.ts")).href)};
      const cluster = await Cluster.start({ crds: false });
      console.log(JSON.stringify([cluster.directory, cluster.pidOf("etcd"), cluster.pidOf("kube-apiserver")]));
      setInterval(() => undefined, 1000);`;
    const run = spawn(
      process.execPath,
      ["--conditions=@bunting/source", "--import=tsx", "--input-type=module", "--eval", script],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const lines = new EventQueue<string>();
    run.stdout.on("data", (chunk: Buffer) => lines.push(chunk.toString()));
    try {
      const line = await lines.nextEvent("a cluster in another process", 50_000);
      const [directory, ...pids] = JSON.parse(line) as [string, number, number];
      expect(pids.every((pid) => existsSync(`/proc/${pid}`))).to.equal(true);
      run.kill("SIGKILL");
      const isGone = (): boolean =>
        !existsSync(directory) && pids.every((pid) => !existsSync(`/proc/${pid}`));
      await eventually(isGone, "its processes and its directory are gone");
    } finally {
      run.kill("SIGKILL");
    }
  });
});

interface OpenWatch {
  close(): void;
  readonly closed: Promise<void>;
}

/** A watch of our own that was answered 200. */
function watch(cluster: Cluster, token: string, namespace?: string): Promise<OpenWatch> {
  const options: RequestOptions = {
    host: cluster.host,
    port: cluster.port,
    ca: cluster.certificateAuthority,
    path: `${featureFlagPath(namespace)}?watch=1`,
    headers: { authorization: `Bearer ${token}` },
    agent: new Agent(),
  };
  return new Promise((resolve, reject) => {
    const opening = request(options, (response) => {
      response.on("error", () => undefined);
      response.resume();
      const closed = new Promise<void>((ended) => response.once("close", () => ended()));
      if (response.statusCode === 200) resolve({ close: () => opening.destroy(), closed });
      else reject(new Error(`the watch was answered ${response.statusCode ?? 0}`));
    });
    opening.on("error", reject);
    opening.end();
  });
}
