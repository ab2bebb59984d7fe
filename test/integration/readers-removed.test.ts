import { expect } from "chai";
import { status } from "@grpc/grpc-js";
import { AgentConnection, type AgentClientStream } from "../support/agent-client.js";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { portOf, startProxy, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { RawSyncConnection, type RawSyncStream } from "../support/raw-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";

const topic = "team-a/checkout";
const legacySync = "/sync.v1.FlagSyncService/SyncFlags";

/** How a proxy reads the FeatureFlag of team-a, which is shared with these readers. */
interface Origin {
  readonly start: (args: readonly string[]) => Promise<ProxyProcess>;
  readonly write: (state: string, readers: string) => void;
  readonly close: () => unknown;
}

const specOf = (state: string): object => ({ flagSpec: { flags: { f: { state, variants: { a: 1 } } } } });

const origins: Readonly<Record<string, () => Promise<Origin>>> = {
  "a directory": () => {
    const flags = new TempDirectory();
    const write: Origin["write"] = (state, readers) =>
      flags.replace(
        "checkout.json",
        JSON.stringify({
          apiVersion: "core.openfeature.dev/v1beta1",
          kind: "FeatureFlag",
          metadata: {
            name: "checkout",
            namespace: "team-a",
            annotations: { "bunting.dev/readers": readers },
          },
          spec: specOf(state),
        }),
      );
    return Promise.resolve({
      write,
      start: (args) => startProxy(flags.path, args),
      close: () => flags.remove(),
    });
  },
  "a cluster": async () => {
    const api = await FaultyApiServer.start();
    const account = new TempDirectory();
    account.replace("token", "any");
    account.replace("ca.crt", api.ca);
    const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) };
    return {
      write: (state, readers) =>
        void api.put("team-a", "checkout", specOf(state), {
          annotations: { "bunting.dev/readers": readers },
        }),
      start: (args) => startProxyInPod({ directory: account.path, environment }, args),
      close: async () => {
        account.remove();
        await api.close();
      },
    };
  },
};

for (const [name, originOf] of Object.entries(origins))
  describe(`an edit in ${name} that stops to share a FeatureFlag, and changes its flags`, () => {
    const issuer = new TokenIssuer();
    const closing: (() => unknown)[] = [];
    let directory: TempDirectory;
    let origin: Origin;
    let proxy: ProxyProcess;

    before(async () => {
      directory = new TempDirectory();
      directory.replace("jwks.json", issuer.keySet);
      origin = await originOf();
      origin.write("v1", "team-b, team-c/web");
      // No look at open streams comes in time: only what the edit says itself can end them.
      proxy = await origin.start([
        ...["--auth=token", "--auth-issuer", issuer.name, "--auth-jwks-file", directory.file("jwks.json")],
        "--auth-recheck=1m",
      ]);
    });

    after(async () => {
      for (const close of closing) close();
      expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
      directory.remove();
      await origin.close();
    });

    async function subscribe(namespace: string, path?: string): Promise<RawSyncStream> {
      const connection = await RawSyncConnection.open(portOf(proxy));
      closing.push(() => connection.close());
      const authorization = `Bearer ${issuer.issue(namespace, "web")}`;
      return connection.subscribe(topic, { authorization, ...(path === undefined ? {} : { ":path": path }) });
    }

    async function agentOf(namespace: string): Promise<AgentClientStream> {
      const connection = await AgentConnection.open(portOf(proxy));
      closing.push(() => connection.close());
      const stream = connection.stream(true, issuer.issue(namespace, "web"));
      stream.subscribe(topic);
      const { version } = await stream.next("snapshot");
      stream.ack(topic, version?.digest);
      return stream;
    }

    it("ends the streams of those it was shared with before they are sent the new flags, and no others", async () => {
      const own = await subscribe("team-a");
      const kept = await subscribe("team-c");
      const lost = [await subscribe("team-b"), await subscribe("team-b", legacySync)];
      const agent = await agentOf("team-b");
      await eventually(() => [own, kept, ...lost].every(({ last }) => last === "v1"), "the first flags");

      origin.write("v2", "team-c/web");

      await eventually(() => [own, kept].every(({ last }) => last === "v2"), "the new flags");
      await eventually(() => lost.every((stream) => stream.status !== undefined), "the end of the others");
      for (const stream of lost) {
        expect(stream.status).to.equal(status.PERMISSION_DENIED);
        expect(stream.versions).to.deep.equal(["v1"]);
      }
      const next = await agent.messages.nextEvent("the end of the subscription");
      expect(next).to.have.property("$case", "topicError");
      agent.subscribe(topic);
      expect((await agent.next("topicError")).message).to.contain("bunting.dev/readers");
    });
  });
