import { status as grpcStatus } from "@grpc/grpc-js";
import { expect } from "chai";
import { AgentConnection } from "../support/agent-client.js";
import { eventually } from "../support/event-queue.js";
import type { ProxyProcess } from "../support/proxy-process.js";
import { StockSyncClient, type SyncSubscription } from "../support/stock-sync-client.js";
import { AccessWorld, podAddressOfMachine } from "./support/access-world.js";
import { restartableCluster, sharedCluster } from "./support/use-cluster.js";

/** So that nothing here waits for the usual 20 s between two looks. */
const often = ["--auth-recheck=1s"];
const withinMs = 60_000;

async function endOf(stream: SyncSubscription): Promise<{ code: grpcStatus; details: string }> {
  const { code, details } = await stream.ended;
  return { code, details };
}

describe("what a caller may read, on a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let world: AccessWorld;
  let proxy: ProxyProcess;
  let client: StockSyncClient;

  beforeEach(async () => {
    world = await AccessWorld.create(cluster());
  });
  afterEach(async () => {
    client.close();
    expect(await proxy.process.stop("SIGKILL"), proxy.process.output).to.equal(null);
  });
  const start = async (...args: readonly string[]): Promise<void> => {
    proxy = await world.startProxy([...args, ...often]);
    client = new StockSyncClient(proxy.sync);
  };

  it("ends with the Role that allowed it: streams, and in-band topics of agents", async () => {
    await start("--auth=token", "--authorize=rbac");
    await world.grantRole("flags");
    const token = await world.token("web");
    const stream = client.subscribe({ selector: world.topic("inRole"), token });
    await stream.messages.nextEvent("flags", withinMs);
    const connection = await AgentConnection.open(Number(proxy.sync.split(":")[1]));
    const agent = connection.stream(true, token);
    agent.subscribe(world.topic("inRole"));
    await agent.next("snapshot");
    agent.subscribe(world.topic("foreign"));
    await agent.next("snapshot");

    await world.removeRole("in-role");
    const { code, details } = await endOf(stream);
    expect(code).to.equal(grpcStatus.PERMISSION_DENIED);
    expect(details).to.contain(`system:serviceaccount:${world.teamA}:web`).and.contain(world.topic("inRole"));
    const error = await agent.next("topicError");
    expect(error).to.include({ topic: world.topic("inRole"), code: grpcStatus.PERMISSION_DENIED });
    expect(agent.hasEnded).to.equal(false);
    const again = await endOf(client.subscribe({ selector: world.topic("inRole"), token }));
    expect(again.code).to.equal(grpcStatus.PERMISSION_DENIED);
    connection.close();
  });

  it("ends with the annotation that shared it, and begins with another", async () => {
    await start("--auth=token");
    const token = await world.token("web");
    const stream = client.subscribe({ selector: world.topic("sharedWithAccount"), token });
    await stream.messages.nextEvent("flags", withinMs);
    await world.share("shared-account", `${world.teamA}/other`);
    expect((await endOf(stream)).code).to.equal(grpcStatus.PERMISSION_DENIED);
    await world.share("shared-account", world.teamA);
    await eventually(async () => {
      const next = client.subscribe({ selector: world.topic("sharedWithAccount"), token });
      const isServed = await Promise.race([
        next.messages.nextEvent("flags", withinMs).then(() => true),
        next.ended.then(() => false),
      ]);
      next.cancel();
      return isServed;
    }, "it is shared again");
  });

  it("ends with the FeatureFlag that was shared: a missing one has no readers", async () => {
    await start("--auth=token");
    const token = await world.token("web");
    const stream = client.subscribe({ selector: world.topic("sharedWithNamespace"), token });
    await stream.messages.nextEvent("flags", withinMs);
    await cluster().deleteFeatureFlag(world.teamB, "shared-namespace");
    expect((await endOf(stream)).code).to.equal(grpcStatus.PERMISSION_DENIED);
  });

  it("ends with a deleted ServiceAccount where tokens are reviewed", async () => {
    await start("--auth=token", "--token-review");
    const [web, other] = [await world.token("web"), await world.token("other")];
    const stream = client.subscribe({ selector: world.topic("own"), token: web });
    const spared = client.subscribe({ selector: world.topic("own"), token: other });
    for (const each of [stream, spared]) await each.messages.nextEvent("flags", withinMs);
    await world.deleteAccount("web");
    expect((await endOf(stream)).code).to.equal(grpcStatus.UNAUTHENTICATED);
    let hasEnded = false;
    void spared.ended.then(() => (hasEnded = true));
    const again = await endOf(client.subscribe({ selector: world.topic("own"), token: web }));
    expect(again.code).to.equal(grpcStatus.UNAUTHENTICATED);
    expect(hasEnded).to.equal(false);
  });

  it("ends with a deleted Pod where tokens are reviewed, also if another has its name", async () => {
    await start("--auth=token", "--token-review");
    await world.createPod("web", "10.9.8.7");
    const [bound, unbound] = [await world.token("web", "bunting", "web"), await world.token("web")];
    const stream = client.subscribe({ selector: world.topic("own"), token: bound });
    const spared = client.subscribe({ selector: world.topic("own"), token: unbound });
    for (const each of [stream, spared]) await each.messages.nextEvent("flags", withinMs);
    await world.deletePod("web");
    await world.createPod("web", "10.9.8.7");
    expect((await endOf(stream)).code).to.equal(grpcStatus.UNAUTHENTICATED);
    let hasEnded = false;
    void spared.ended.then(() => (hasEnded = true));
    const again = await endOf(client.subscribe({ selector: world.topic("own"), token: bound }));
    expect(again.code).to.equal(grpcStatus.UNAUTHENTICATED);
    expect(hasEnded).to.equal(false);
    const ofTheNewOne = await world.token("web", "bunting", "web");
    await client
      .subscribe({ selector: world.topic("own"), token: ofTheNewOne })
      .messages.nextEvent("flags of the other Pod", withinMs);
  });

  it("does not pass with an address to the Pod that has it next", async function () {
    const address = podAddressOfMachine("IPv4");
    if (address === undefined) {
      console.log("      skipped: this machine has no address that a Pod could have");
      this.skip();
    }
    await world.createPod("web", address);
    proxy = await world.startProxy(["--auth=pod-ip", "--host", address, ...often]);
    client = new StockSyncClient(`${address}:${proxy.sync.split(":")[1] ?? ""}`);
    const stream = client.subscribe({ selector: world.topic("own") });
    await stream.messages.nextEvent("flags", withinMs);
    await world.deletePod("web");
    await world.createPod("intruder", address, { namespace: world.teamB, account: "default" });
    expect((await endOf(stream)).code).to.equal(grpcStatus.UNAUTHENTICATED);
    const own = await endOf(client.subscribe({ selector: world.topic("own") }));
    expect(own.code, own.details).to.equal(grpcStatus.PERMISSION_DENIED);
    // What belongs to the next one it may read.
    await client
      .subscribe({ selector: world.topic("foreign") })
      .messages.nextEvent("flags of the next Pod", withinMs);
    // No other test of the cluster may find this address taken.
    await world.deletePod("intruder", world.teamB);
  });

  it("costs the API server no read, and the proxy no topic, when names of other namespaces are guessed", async () => {
    await start("--auth=token");
    const token = await world.token("web");
    const first = client.subscribe({ selector: world.topic("own"), token });
    await first.messages.nextEvent("flags", withinMs);
    const mentions = (): number =>
      cluster()
        .requests(world.proxy)
        .filter(({ uri }) => uri.includes(world.teamB) || uri.includes("guess")).length;
    for (let index = 0; index < 200; index++) {
      const { code } = await endOf(client.subscribe({ selector: `${world.teamB}/guess-${index}`, token }));
      expect(code).to.equal(grpcStatus.PERMISSION_DENIED);
    }
    // The audit log has this one after all that came before it.
    await cluster().putFeatureFlag(world.teamA, "later", { flags: {} });
    const last = client.subscribe({ selector: `${world.teamA}/later`, token });
    await last.messages.nextEvent("flags", withinMs);
    await eventually(
      () =>
        cluster()
          .requests(world.proxy)
          .some(({ uri }) => uri.includes("later")),
      "the request for the last one in the audit log",
    );
    expect(mentions()).to.equal(0);
  });

  it("reviews a guesser's names only so often with rbac, and those of others at once", async () => {
    await start("--auth=token", "--authorize=rbac");
    const [web, other] = [await world.token("web"), await world.token("other")];
    const codes = await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        endOf(client.subscribe({ selector: `${world.teamB}/guess-${index}`, token: other })),
      ),
    );
    const stream = client.subscribe({ selector: world.topic("inRole"), token: web });
    await stream.messages.nextEvent("flags", withinMs);
    const denied = codes.filter(({ code }) => code === grpcStatus.PERMISSION_DENIED).length;
    expect(denied).to.be.within(32, 64);
    expect(codes.filter(({ code }) => code === grpcStatus.UNAVAILABLE)).to.have.length(300 - denied);
  });
});

describe("callers while the API server is away", function () {
  this.timeout(180_000);
  const cluster = restartableCluster();

  it("stay, and come back, if they were known; no one else gets in", async () => {
    const world = await AccessWorld.create(cluster());
    const proxy = await world.startProxy([
      "--auth=token",
      "--authorize=rbac",
      ...often,
      "--max-topics-per-connection=0",
    ]);
    const clients = Array.from({ length: 20 }, () => new StockSyncClient(proxy.sync));
    const [web, other] = [await world.token("web"), await world.token("other")];
    const [first] = clients;
    if (first === undefined) throw new Error("there is a client");
    const streams = clients.flatMap((client) =>
      Array.from({ length: 50 }, () => client.subscribe({ selector: world.topic("inRole"), token: web })),
    );
    let ended = 0;
    for (const stream of streams) void stream.ended.then(() => ended++);
    for (const stream of streams) await stream.messages.nextEvent("flags", withinMs);
    const wanted = { selector: world.topic("inRole") };

    await cluster().kill("kube-apiserver");
    await proxy.process.nextLog(
      "the API server does not answer access reviews; peers that are known are served on, new ones wait",
    );
    const back = first.subscribe({ ...wanted, token: web });
    await back.messages.nextEvent("flags", withinMs);
    const refused = await endOf(first.subscribe({ ...wanted, token: other }));
    expect(refused.code, refused.details).to.equal(grpcStatus.UNAVAILABLE);
    expect(ended).to.equal(0);

    await cluster().startApiServer();
    await proxy.process.nextLog("the API server answers access reviews again");
    await eventually(async () => {
      const { code } = await endOf(first.subscribe({ ...wanted, token: other }));
      return code === grpcStatus.PERMISSION_DENIED;
    }, "the other caller's refusal");
    expect(ended).to.equal(0);
    for (const client of clients) client.close();
    expect(await proxy.process.stop("SIGKILL"), proxy.process.output).to.equal(null);
  });
});
