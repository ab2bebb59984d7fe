import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { checkOptions } from "@bunting/backplane";
import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { syncV1 } from "@bunting/protocol";
import { merging } from "@bunting/remote";
import { systemClock } from "@bunting/runtime";
import { Authority } from "@bunting/test/support/certificates.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import {
  HostileSyncServer,
  onSubscribe,
  open,
  refuse,
  snapshot,
} from "@bunting/test/support/hostile-sync-server.js";
import { HttpServer, type Answer } from "@bunting/test/support/http-server.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { fast } from "../backplane/backplane.fixture.js";
import { answersOfFaults, status, timeoutMs } from "./remote-faults.fixture.js";
import { remoteLanguage, type RemoteLanguage } from "./remote-language.js";
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
import type { RecordingSink } from "../source.fixture.js";

type Pair = Awaited<ReturnType<Authority["issue"]>>;

/** A server of one kind, and what it may do in place of an answer. */
interface Far<Behaviour> {
  readonly type: "grpc" | "ofrep-bulk";
  readonly faults: readonly (readonly [what: string, behaviour: Behaviour, reason: string | RegExp])[];
  /** Serves this version of its flags. */
  readonly version: (version: number) => Behaviour;
  /** Serves the first version to whom shows the token `new`, and refuses others. */
  readonly guarded: Behaviour;
  readonly refusal: string;
  /** @param secure its certificate; without, it has no TLS */
  readonly start: (behaviour: Behaviour, port?: number, secure?: Pair) => Promise<FarServer<Behaviour>>;
}

interface FarServer<Behaviour> {
  readonly port: number;
  readonly uri: string;
  /** From now on; connections that are open end. */
  readonly does: (behaviour: Behaviour) => void;
  readonly stop: () => Promise<void>;
}

const far = (version: number) => documentOf("remote", version, ["both", "far"]);

const ofrep: Far<Answer> = {
  type: "ofrep-bulk",
  version: (version) => (_request, response) =>
    void response.end(
      JSON.stringify({
        flags: ["both", "far"].map((key) => ({ key, value: `remote ${version}`, reason: "STATIC" })),
      }),
    ),
  guarded: (request, response) =>
    (request.headers.authorization === "Bearer new" ? ofrep.version(1) : status(401))(request, response),
  refusal: "Unauthorized",
  faults: [
    ...answersOfFaults.map(([what, answer, reason]): Far<Answer>["faults"][number] => [
      what,
      answer,
      what === "nothing" ? "DocumentInvalid" : reason,
    ]),
    [
      "JSON that is no answer of OFREP",
      (_, response) => void response.end('{"flags":{}}'),
      "DocumentInvalid",
    ],
  ],
  start: async (behaviour, port, secure) => {
    const server = new HttpServer(secure ?? false);
    server.answer = behaviour;
    await server.start("127.0.0.1", port);
    return {
      port: server.port,
      uri: server.origin,
      does: (next) => {
        server.answer = next;
        server.cut();
      },
      stop: () => server.stop(),
    };
  },
};

type Serve = (stream: ServerHttp2Stream, path: string, headers: IncomingHttpHeaders) => void;

/** A frame of flagd.sync.v1. */
function flagdFrame(text: string): Buffer {
  const body = syncV1.SyncFlagsResponse.encode({ flagConfiguration: text, syncContext: undefined }).finish();
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

const codes = {
  ...{ deadlineExceeded: 4, notFound: 5, resourceExhausted: 8 },
  ...{ unimplemented: 12, internal: 13, unavailable: 14, unauthenticated: 16 },
};

/** A server of gRPC that has both protocols, or that of flagd only. */
function grpcFar(isFlagd: boolean): Far<Serve> {
  const frame = (text: string): Buffer => (isFlagd ? flagdFrame(text) : snapshot(topic, text));
  /** Writes bytes where a version would come. */
  const writes =
    (bytes: Buffer, then: (stream: ServerHttp2Stream) => void = () => undefined): Serve =>
    (stream) => {
      open(stream);
      const write = (): void => void stream.write(bytes, () => then(stream));
      if (isFlagd) write();
      else onSubscribe(stream, write);
    };
  const ends =
    (code: number): Serve =>
    (stream) =>
      refuse(stream, code);
  const whole = frame(JSON.stringify(far(9)));
  const answers =
    (code: number): Serve =>
    (stream) =>
      stream.respond({ ":status": code, "content-type": "text/html" }, { endStream: true });
  const version = (number: number): Serve => writes(frame(JSON.stringify(far(number))));
  return {
    type: "grpc",
    version,
    guarded: (stream, path, headers) =>
      (headers.authorization === "Bearer new" ? version(1) : ends(codes.unauthenticated))(
        stream,
        path,
        headers,
      ),
    refusal: "Unauthenticated",
    faults: [
      ["NOT_FOUND", ends(codes.notFound), "NotFound"],
      ["RESOURCE_EXHAUSTED", ends(codes.resourceExhausted), "ResourceExhausted"],
      ["INTERNAL", ends(codes.internal), "Internal"],
      ["UNAVAILABLE", ends(codes.unavailable), "Unavailable"],
      ["DEADLINE_EXCEEDED", ends(codes.deadlineExceeded), "DeadlineExceeded"],
      ["503 of a gateway", answers(503), /./],
      ["404 of a gateway", answers(404), /./],
      ["what is no gRPC", (stream) => open(stream).end("<html>"), /./],
      ["what is no document", writes(frame("<html>")), "DocumentInvalid"],
      ["half a document in a whole message", writes(frame('{"flags":{"a"')), "DocumentInvalid"],
      ["half a message", writes(whole.subarray(0, 20), (stream) => stream.destroy()), /./],
      ["nothing in a message", writes(frame("")), "DocumentInvalid"],
      ["an end without a message", (stream) => open(stream).end(), /./],
      ["a beginning, and nothing after it", writes(whole.subarray(0, 20)), "NoAnswer"],
      ["silence", () => undefined, "NoAnswer"],
    ],
    start: async (behaviour, port, secure) => {
      let serve = behaviour;
      const server = new HostileSyncServer(
        (stream, path, headers) => {
          if (isFlagd && path.includes("bunting")) refuse(stream, codes.unimplemented);
          else serve(stream, path, headers);
        },
        {},
        secure,
      );
      const address = await server.listen(port);
      return {
        port: Number(address.split(":")[1]),
        uri: `${secure === undefined ? "grpc" : "grpcs"}://${address}`,
        does: (next) => {
          serve = next;
          server.cut();
        },
        stop: () => {
          server.stop();
          return Promise.resolve();
        },
      };
    },
  };
}

/** The version of the remote that a flag of it is served in. */
function farOf(sink: RecordingSink): string | undefined {
  const { flags } = JSON.parse(sink.lastText ?? '{"flags":{}}') as {
    readonly flags: Readonly<Record<string, { readonly state: string; readonly variants?: object }>>;
  };
  const { state, variants } = flags["far"] ?? {};
  return variants === undefined ? state : String(Object.values(variants)[0]);
}

function testsOf<Behaviour>(name: string, kind: Far<Behaviour>): void {
  describe(`RemoteSource with a server of ${name}`, () => {
    let cluster: RemoteCluster;
    const replicas: RemoteReplica[] = [];
    const cleanUps: (() => unknown)[] = [];
    beforeEach(() => {
      cluster = new RemoteCluster();
    });
    afterEach(async () => {
      for (const replica of replicas.splice(0)) await replica.stop();
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    });

    async function serve(behaviour: Behaviour, port?: number, secure?: Pair): Promise<FarServer<Behaviour>> {
      const server = await kind.start(behaviour, port, secure);
      cleanUps.push(() => server.stop());
      return server;
    }

    function start(port: number, options: Partial<RemoteReplicaOptions> = {}): RemoteReplica {
      const hosts = ["http://", ""].map((scheme) => `${scheme}127.0.0.1:${port}=127.0.0.0/8`);
      const { kinds } = remoteLanguage(hosts, systemClock, { limits: { bytes: 100_000, timeoutMs } });
      // Providers are read as those of tests, whose intervals are short.
      const remotes = new ScriptedRemotes(systemClock);
      const language: RemoteLanguage = { kinds, parse: languageOf(remotes).parse, merging };
      const replica = new RemoteReplica({ clock: systemClock, cluster, remotes, language, ...options });
      replicas.push(replica);
      return replica;
    }

    const publish = (uri: string, fields = {}): void =>
      cluster.publish(
        documentOf("local", 1, ["both", "own"]),
        providerOf({ type: kind.type, uri, intervalMs: 50, selector: topic, ...fields }),
      );
    const told = (): string => {
      const { state = "", reason = "", message = "" } = replicas.at(-1)?.source.remoteOf(topic) ?? {};
      return `${state} ${reason} ${message}`;
    };
    const isTold = async (reason: string | RegExp, what: string): Promise<void> => {
      const matches = (): boolean => {
        const now = replicas.at(-1)?.source.remoteOf(topic)?.reason;
        return now !== undefined && (typeof reason === "string" ? now === reason : reason.test(now));
      };
      await eventually(matches, `${what} told as ${String(reason)}`).catch((error: unknown) => {
        throw new Error(`${String(error)}; it is ${told()}`);
      });
    };

    for (const [what, behaviour, reason] of kind.faults)
      it(`serves what it said before, though a replica begins meanwhile, when it answers ${what}`, async function () {
        this.timeout(60_000);
        const directory = new TempDirectory();
        cleanUps.push(() => directory.remove());
        const server = await serve(kind.version(1));
        publish(server.uri);
        const first = start(server.port, { cacheDir: directory.path });
        const sink = first.watch();
        await eventually(() => farOf(sink) === "remote 1", "the first document");
        server.does(behaviour);
        await isTold(/./, what);
        await replicas.splice(0)[0]?.stop();
        expect(sink.events.every(({ kind: each }) => each === "document")).to.equal(true);
        const next = start(server.port, { cacheDir: directory.path }).watch();
        await eventually(() => farOf(next) === "remote 1", "what was said before, from the disk");
        await isTold(reason, what);
        // A failure may come before the copy is read.
        await eventually(() => told().startsWith("stale "), `it is stale after ${what}`);
        expect(flagsOf(next)).to.include({ both: "local 1", own: "local 1" });
        expect(farOf(next)).to.equal("remote 1");
        server.does(kind.version(2));
        await eventually(() => farOf(next) === "remote 2", `what comes after ${what}`);
        await eventually(() => told() === "synced  ", "it is synced");
      });

    it("keeps in Redis what it said before each of these, though its replica is replaced meanwhile", async function () {
      this.timeout(120_000);
      needsRedisServer(this);
      const redis = await RedisServer.start();
      cleanUps.push(() => redis.stop());
      // Redis itself has no faults here: on a busy machine, commands that were given up would hide what was said before.
      const patient = { commandTimeoutMs: 10_000, connectTimeoutMs: 10_000 };
      const backplane = checkOptions({ address: redis.address, ...fast, ...patient });
      const server = await serve(kind.version(1));
      publish(server.uri);
      let sink = start(server.port, { backplane }).watch();
      /** Read by a replica that has nothing else to read. */
      const isInRedis = async (version: number): Promise<void> => {
        const follower = start(server.port, { backplane, isCut: true });
        replicas.pop();
        const followed = follower.watch();
        const isThere = (): boolean => farOf(followed) === `remote ${version}`;
        await eventually(isThere, `version ${version} in Redis`).finally(() => follower.stop());
      };
      await eventually(() => farOf(sink) === "remote 1", "the first document");
      await isInRedis(1);
      for (const [index, [what, behaviour, reason]] of kind.faults.entries()) {
        server.does(behaviour);
        await isTold(/./, what);
        await replicas.splice(0)[0]?.stop();
        sink = start(server.port, { backplane }).watch();
        await eventually(
          () => farOf(sink) === `remote ${index + 1}`,
          `what was said before ${what}, from Redis`,
        );
        await isTold(reason, what);
        expect(farOf(sink), what).to.equal(`remote ${index + 1}`);
        server.does(kind.version(index + 2));
        await eventually(() => farOf(sink) === `remote ${index + 2}`, `what comes after ${what}`);
        await eventually(() => told() === "synced  ", "it is synced");
        await isInRedis(index + 2);
      }
    });

    it("serves what it said before while nothing answers at its port, and then what it says", async () => {
      const server = await serve(kind.version(1));
      publish(server.uri);
      const sink = start(server.port).watch();
      await eventually(() => farOf(sink) === "remote 1", "the first document");
      await server.stop();
      cleanUps.pop();
      await isTold(/./, "no server");
      const sockets = new Set<Socket>();
      const hole = createTcpServer(
        (socket) => void sockets.add(socket.on("error", () => undefined).resume()),
      );
      await new Promise<void>((resolve) => hole.listen(server.port, "127.0.0.1", resolve));
      const { port } = hole.address() as AddressInfo;
      await eventually(() => sockets.size > 0, "the black hole is called");
      expect(farOf(sink)).to.equal("remote 1");
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => hole.close(resolve));
      await serve(kind.version(2), port);
      await eventually(() => farOf(sink) === "remote 2", "what is said after");
    });

    it("reads again with the Secret's new content, though who is refused asks less and less often", async () => {
      let credential = "old";
      const server = await serve(kind.guarded);
      publish(server.uri, { credentials: { secretRef: { name: "s", key: "k" } } });
      const sink = start(server.port, {
        secrets: () => ({ kind: "read", values: { credential } }),
      }).watch();
      await isTold(kind.refusal, "the refusal");
      credential = "new";
      await eventually(() => farOf(sink) === "remote 1", "the flags");
      await eventually(() => told() === "synced  ", "it is synced");
    });

    it("has at a new replica what it said before, and is stale, when it refuses whom it has answered", async () => {
      const directory = new TempDirectory();
      cleanUps.push(() => directory.remove());
      const server = await serve(kind.version(1));
      publish(server.uri);
      const sink = start(server.port, { cacheDir: directory.path }).watch();
      await eventually(() => farOf(sink) === "remote 1", "the first document");
      await replicas.splice(0)[0]?.stop();
      server.does(kind.guarded);
      const next = start(server.port, { cacheDir: directory.path }).watch();
      await eventually(() => farOf(next) === "remote 1", "what was said before, from the disk");
      // It is not asked again within this test.
      await eventually(() => told().startsWith(`stale ${kind.refusal} `), "it is stale");
      expect(farOf(next)).to.equal("remote 1");
    });

    it("keeps what it has while the certificate is another one, and reads on by the Secret's new authority", async () => {
      const [one, two] = await Promise.all([Authority.create(), Authority.create()]);
      let ca = one.cert;
      const before = await serve(kind.version(1), 0, await one.issue());
      publish(before.uri, { caSecretRef: { name: "s", key: "ca" } });
      const sink = start(before.port, { secrets: () => ({ kind: "read", values: { ca } }) }).watch();
      await eventually(() => farOf(sink) === "remote 1", "the first document");
      await before.stop();
      cleanUps.pop();
      await serve(kind.version(2), before.port, await two.issue());
      await eventually(() => told().includes("certificate"), "the certificate of another authority");
      expect(farOf(sink)).to.equal("remote 1");
      ca = two.cert;
      await eventually(() => farOf(sink) === "remote 2", "what is said with the new certificate");
      await eventually(() => told() === "synced  ", "it is synced");
    });
  });
}

testsOf("OFREP", ofrep);
testsOf("bunting.sync.v1", grpcFar(false));
testsOf("flagd.sync.v1", grpcFar(true));
