import { merging } from "@bunting/remote";
import { systemClock } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { document, HttpServer, type Answer } from "@bunting/test/support/http-server.js";
import { expect } from "chai";
import { remoteLanguage, type RemoteLanguage } from "./remote-language.js";
import type { SecretsRead } from "./remote-secrets.js";
import {
  documentOf,
  flagsOf,
  languageOf,
  providerOf,
  RemoteCluster,
  RemoteReplica,
  ScriptedRemotes,
  topic,
} from "./remote.fixture.js";

const own = documentOf("local", 1, ["both", "own"]);
const far = (version: number): Answer =>
  document(JSON.stringify(documentOf("remote", version, ["both", "far"])));
const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(code, headers).end();

/** Each takes nothing away, and is told by its reason. */
const faults: readonly (readonly [what: string, answer: Answer, reason: string])[] = [
  ["404", status(404), "Missing"],
  ["429", status(429), "Throttled"],
  ["503", status(503), "ServerError"],
  ["a redirect", status(302, { location: "https://elsewhere.test/" }), "Redirect"],
  ["what is no document", (_request, response) => void response.end("<html>"), "DocumentInvalid"],
  [
    "half a document",
    (_request, response) => void response.writeHead(200, { "content-length": "900" }).end('{"flags":'),
    "Unreachable",
  ],
  ["nothing", (_request, response) => void response.end(""), "Empty"],
  ["a connection that breaks", (_request, response) => void response.socket?.destroy(), "Unreachable"],
];

describe("RemoteSource with a server over HTTP", () => {
  let server: HttpServer;
  let cluster: RemoteCluster;
  const replicas: RemoteReplica[] = [];
  beforeEach(async () => {
    server = new HttpServer();
    await server.start();
    cluster = new RemoteCluster();
  });
  afterEach(async () => {
    for (const replica of replicas.splice(0)) await replica.stop();
    await server.stop();
  });

  function start(hosts: readonly string[], secrets?: () => SecretsRead): RemoteReplica {
    const { kinds } = remoteLanguage(hosts, systemClock);
    // Providers are read as those of tests, whose intervals are short.
    const { parse } = languageOf(new ScriptedRemotes(systemClock));
    const language: RemoteLanguage = { kinds, parse, merging };
    const remotes = new ScriptedRemotes(systemClock);
    const replica = new RemoteReplica({
      clock: systemClock,
      cluster,
      remotes,
      language,
      ...(secrets && { secrets }),
    });
    replicas.push(replica);
    return replica;
  }
  const listed = (): string[] => [`http://127.0.0.1:${server.port}=127.0.0.0/8`];
  const provider = (fields = {}) => providerOf({ uri: `${server.origin}/flags`, intervalMs: 50, ...fields });

  it("keeps what a server said before each fault, says which it is, and takes what it says after", async () => {
    server.answer = far(1);
    cluster.publish(own, provider());
    const replica = start(listed());
    const sink = replica.watch();
    await eventually(() => flagsOf(sink)["far"] === "remote 1", "the first document");
    for (const [index, [what, answer, reason]] of faults.entries()) {
      server.answer = answer;
      await eventually(() => replica.source.remoteOf(topic)?.reason === reason, `${what}: ${reason}`);
      expect(flagsOf(sink), what).to.deep.equal({
        both: "local 1",
        own: "local 1",
        far: `remote ${index + 1}`,
      });
      server.answer = far(index + 2);
      await eventually(() => flagsOf(sink)["far"] === `remote ${index + 2}`, `what comes after ${what}`);
    }
    expect(sink.events.every(({ kind }) => kind === "document")).to.equal(true);
  });

  it("reads again with the Secret's new content, though a server that refuses is asked less and less often", async () => {
    let credential = "old";
    server.answer = (request, response) =>
      request.headers.authorization === "Bearer new"
        ? far(1)(request, response)
        : status(401)(request, response);
    cluster.publish(own, provider({ credentials: { secretRef: { name: "s", key: "k" } } }));
    const replica = start(listed(), () => ({ kind: "read", values: { credential } }));
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
