import { checkOptions } from "@bunting/backplane";
import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { merging } from "@bunting/remote";
import { systemClock } from "@bunting/runtime";
import { Authority } from "@bunting/test/support/certificates.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { document, HttpServer, type Answer } from "@bunting/test/support/http-server.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { fast } from "../backplane/backplane.fixture.js";
import { remoteLanguage, type RemoteLanguage } from "./remote-language.js";
import { answersOfFaults, status, timeoutMs } from "./remote-faults.fixture.js";
import {
  documentOf,
  flagsOf,
  languageOf,
  providerOf,
  RemoteCluster,
  RemoteReplica,
  ScriptedRemotes,
  topic,
  type RemoteReplicaOptions,
} from "./remote.fixture.js";

const own = documentOf("local", 1, ["both", "own"]);
const far = (version: number): Answer =>
  document(JSON.stringify(documentOf("remote", version, ["both", "far"])));
const both = (version: number) => ({ both: "local 1", own: "local 1", far: `remote ${version}` });
describe("RemoteSource with a server over HTTP", () => {
  let server: HttpServer;
  let cluster: RemoteCluster;
  const replicas: RemoteReplica[] = [];
  const cleanUps: (() => unknown)[] = [];
  beforeEach(async () => {
    server = new HttpServer();
    await server.start();
    cluster = new RemoteCluster();
  });
  afterEach(async () => {
    for (const replica of replicas.splice(0)) await replica.stop();
    for (const cleanUp of cleanUps.splice(0)) await cleanUp();
    await server.stop();
  });

  function start(hosts: readonly string[], options: Partial<RemoteReplicaOptions> = {}): RemoteReplica {
    const { kinds } = remoteLanguage(hosts, systemClock, { limits: { bytes: 100_000, timeoutMs } });
    // Providers are read as those of tests, whose intervals are short.
    const remotes = new ScriptedRemotes(systemClock);
    const { parse } = languageOf(remotes);
    const language: RemoteLanguage = { kinds, parse, merging };
    const replica = new RemoteReplica({ clock: systemClock, cluster, remotes, language, ...options });
    replicas.push(replica);
    return replica;
  }
  const listed = (): string[] => [`http://127.0.0.1:${server.port}=127.0.0.0/8`];
  const provider = (fields = {}) => providerOf({ uri: `${server.origin}/flags`, intervalMs: 50, ...fields });
  const isTold = (reason: string | undefined): boolean =>
    replicas.some(({ source }) => source.remoteOf(topic)?.reason === reason);

  /** What is kept of a remote while replicas are replaced, and what that takes. */
  const keepers: Readonly<Record<string, () => Promise<Partial<RemoteReplicaOptions>>>> = {
    "with copies on disk": () => {
      const directory = new TempDirectory();
      cleanUps.push(() => directory.remove());
      return Promise.resolve({ cacheDir: directory.path });
    },
    "with Redis": async () => {
      const redis = await RedisServer.start();
      cleanUps.push(() => redis.stop());
      return { backplane: checkOptions({ address: redis.address, ...fast }) };
    },
  };

  it("keeps what a server said before each fault, says which it is, and takes what it says after", async () => {
    server.answer = far(1);
    cluster.publish(own, provider());
    const sink = start(listed()).watch();
    await eventually(() => flagsOf(sink)["far"] === "remote 1", "the first document");
    for (const [index, [what, answer, reason]] of answersOfFaults.entries()) {
      server.answer = answer;
      await eventually(() => isTold(reason), `${what}: ${reason}`);
      expect(flagsOf(sink), what).to.deep.equal(both(index + 1));
      server.answer = far(index + 2);
      await eventually(() => flagsOf(sink)["far"] === `remote ${index + 2}`, `what comes after ${what}`);
    }
    expect(sink.events.every(({ kind }) => kind === "document")).to.equal(true);
  });

  for (const [how, keeper] of Object.entries(keepers))
    it(`keeps it ${how} through each fault, though its replica is replaced meanwhile`, async function () {
      this.timeout(120_000);
      if (how.includes("Redis")) needsRedisServer(this);
      const kept = await keeper();
      server.answer = far(1);
      cluster.publish(own, provider());
      let sink = start(listed(), kept).watch();
      await eventually(() => flagsOf(sink)["far"] === "remote 1", "the first document");
      for (const [index, [what, answer, reason]] of answersOfFaults.entries()) {
        server.answer = answer;
        await eventually(() => isTold(reason), `${what}: ${reason}`);
        const [old] = replicas.splice(0);
        await old?.stop();
        sink = start(listed(), kept).watch();
        await eventually(() => sink.lastText !== undefined, `a document during ${what}`);
        expect(flagsOf(sink), what).to.deep.equal(both(index + 1));
        await eventually(() => isTold(reason), `${what} at the new replica: ${reason}`);
        expect(flagsOf(sink), what).to.deep.equal(both(index + 1));
        server.answer = far(index + 2);
        await eventually(() => flagsOf(sink)["far"] === `remote ${index + 2}`, `what comes after ${what}`);
      }
    });

  it("keeps what it has while the certificate is another one, and reads on by the Secret's new authority", async () => {
    const [one, two] = await Promise.all([Authority.create(), Authority.create()]);
    let ca = one.cert;
    const before = new HttpServer(await one.issue());
    cleanUps.push(() => before.stop());
    before.answer = far(1);
    const uri = `${await before.start()}/flags`;
    const { port } = before;
    cluster.publish(own, provider({ uri, caSecretRef: { name: "s", key: "ca" } }));
    const replica = start([`127.0.0.1:${port}=127.0.0.1`], {
      secrets: () => ({ kind: "read", values: { ca } }),
    });
    const sink = replica.watch();
    await eventually(() => flagsOf(sink)["far"] === "remote 1", "the first document");
    await before.stop();
    const after = new HttpServer(await two.issue());
    cleanUps.splice(0, 1, () => after.stop());
    after.answer = far(2);
    await after.start("127.0.0.1", port);
    const message = (): string => replica.source.remoteOf(topic)?.message ?? "";
    await eventually(() => message().includes("certificate"), "the certificate of another authority");
    expect(flagsOf(sink)).to.deep.equal(both(1));
    ca = two.cert;
    await eventually(() => flagsOf(sink)["far"] === "remote 2", "what is said with the new certificate");
    expect(replica.source.remoteOf(topic)).to.include({ state: "synced", reason: undefined });
  });

  it("reads again with the Secret's new content, though a server that refuses is asked less and less often", async () => {
    let credential = "old";
    server.answer = (request, response) =>
      request.headers.authorization === "Bearer new"
        ? far(1)(request, response)
        : status(401)(request, response);
    cluster.publish(own, provider({ credentials: { secretRef: { name: "s", key: "k" } } }));
    const replica = start(listed(), { secrets: () => ({ kind: "read", values: { credential } }) });
    const sink = replica.watch();
    await eventually(() => replica.source.remoteOf(topic)?.reason === "Unauthorized", "the refusal");
    credential = "new";
    await eventually(() => flagsOf(sink)["far"] === "remote 1", "the flags");
    expect(replica.source.remoteOf(topic)).to.include({ state: "synced", reason: undefined });
  });

  it("calls no host that is not listed, nor an address that is not public and not listed for it", async () => {
    server.answer = far(1);
    cluster.publish(own, provider());
    for (const hosts of [[], ["http://127.0.0.1:1=127.0.0.0/8"], [`http://127.0.0.1:${server.port}`]]) {
      const replica = start(hosts);
      const sink = replica.watch();
      await eventually(() => replica.source.remoteOf(topic)?.state === "never", "the refusal");
      expect(replica.source.remoteOf(topic)?.reason).to.match(/^(Host|Address)Refused$/);
      await eventually(() => flagsOf(sink)["own"] === "local 1", "the FeatureFlag's own flags");
    }
    expect(server.connections).to.equal(0);
  });
});
