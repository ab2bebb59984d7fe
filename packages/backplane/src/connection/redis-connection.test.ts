import { readFileSync, writeFileSync } from "node:fs";
import { inspect } from "node:util";
import { eventually } from "@bunting/test/support/event-queue.js";
import { FaultProxy } from "@bunting/test/support/fault-proxy.js";
import { Authority } from "@bunting/test/support/certificates.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import type { BackplaneError } from "../backplane-error.js";
import { needsRedisServer, RedisServer } from "../redis-server.fixture.js";
import { codeOf, Stops, TestReplica } from "../replica.fixture.js";
import { answerOf } from "./answers.js";
import { LyingRedis } from "./lying-redis.fixture.js";
import { script, type Script } from "./script.js";

describe("RedisConnection", () => {
  let server: RedisServer;
  const stops = new Stops();
  before(async function () {
    needsRedisServer(this);
    server = await RedisServer.start();
  });
  after(() => RedisServer.stop(server));
  afterEach(() => stops.stop());

  async function failure(promise: Promise<unknown>): Promise<BackplaneError> {
    return promise.then(
      () => expect.fail("it did not fail"),
      (error: unknown) => error as BackplaneError,
    );
  }

  async function ownServer(...args: readonly string[]): Promise<RedisServer> {
    return stops.add(await RedisServer.start(...args));
  }

  it("sends commands, and answers texts as bytes", async () => {
    const { connection } = stops.add(await TestReplica.connected({ address: server.address }));
    await connection.call("SET", ["bytes", Buffer.of(0, 255, 10)]);
    expect(await connection.call("GET", ["bytes"])).to.deep.equal(Buffer.of(0, 255, 10));
    expect(await connection.call("GET", ["nothing"])).to.equal(null);
  });

  it("fails at once where there is no connection, with the reason", async () => {
    const { connection } = stops.add(new TestReplica({ address: "redis://127.0.0.1:1" }));
    expect(connection.isUp).to.equal(false);
    expect(await failure(connection.call("PING", []))).to.have.property("code", "REDIS_AWAY");
  });

  it("sends a script that Redis does not know, also after Redis was restarted", async () => {
    const own = await ownServer();
    const replica = stops.add(await TestReplica.connected({ address: own.address }));
    const echo = script("return {KEYS[1], ARGV[1]}", answerOf.texts(2));
    const expected = ["k", "a"];
    expect(await replica.connection.evaluate(echo, ["k"], ["a"])).to.deep.equal(expected);
    await own.command("SCRIPT", "FLUSH");
    expect(await replica.connection.evaluate(echo, ["k"], ["a"])).to.deep.equal(expected);
  });

  it("makes another connection when Redis was killed and is back", async () => {
    const own = await ownServer();
    const replica = stops.add(await TestReplica.connected({ address: own.address }));
    await own.kill();
    await replica.next(false);
    await own.restart();
    await replica.next(true);
    expect(String(await replica.connection.call("PING", []))).to.equal("PONG");
  });

  it("gives up a connection to a Redis that does not answer, and uses it again when it does", async () => {
    const own = await ownServer();
    const options = { address: own.address, commandTimeoutMs: 100, connectTimeoutMs: 200 };
    const replica = stops.add(await TestReplica.connected(options));
    own.pause();
    const [first, second] = await Promise.all([
      failure(replica.connection.call("PING", [])),
      failure(replica.connection.call("PING", [])),
    ]);
    expect(first.code).to.equal("REDIS_TIMEOUT");
    expect(["REDIS_TIMEOUT", "REDIS_AWAY"]).to.include(second.code);
    await replica.next(false);
    // And does not say that Redis has ended it.
    await eventuallyLogged(replica, "did not answer within 100 ms");
    own.resume();
    await replica.next(true);
  });

  it("does not wait for ever where something accepts connections and says nothing", async () => {
    const proxy = await FaultProxy.start(server.port);
    stops.later(() => proxy.close());
    proxy.blackhole(true);
    const options = { address: `redis://127.0.0.1:${proxy.port}`, connectTimeoutMs: 100 };
    const replica = stops.add(new TestReplica(options));
    await eventuallyLogged(replica, "REDIS_TIMEOUT");
    proxy.blackhole(false);
    await replica.next(true);
  });

  it("says what to do where TLS is spoken to a Redis without, which waits for more", async () => {
    const address = server.address.replace("redis:", "rediss:");
    const replica = stops.add(new TestReplica({ address, connectTimeoutMs: 100 }));
    await eventuallyLogged(replica, "if it does not speak TLS, write redis://");
  });

  it("notices at once when the connection is cut, and fails what was not answered", async () => {
    const proxy = await FaultProxy.start(server.port);
    stops.later(() => proxy.close());
    const replica = stops.add(await TestReplica.connected({ address: `redis://127.0.0.1:${proxy.port}` }));
    const blocked = failure(replica.connection.call("BLPOP", ["none", 0], 60_000));
    proxy.cut();
    expect((await blocked).code).to.equal("REDIS_AWAY");
    await replica.next(true);
  });

  it("does not take an answer that is there for a late one, however long the process was busy", async () => {
    const options = { address: server.address, commandTimeoutMs: 100 };
    const { connection } = stops.add(await TestReplica.connected(options));
    const answer = connection.call("PING", []);
    const untilMs = performance.now() + 400;
    while (performance.now() < untilMs);
    expect(String(await answer)).to.equal("PONG");
    expect(connection.isUp).to.equal(true);
  });

  it("presents the user and password of the files as they are at each connection", async () => {
    const own = await ownServer("--user", "default", "off", "--user", "app", "on", ">first", "~*", "+@all");
    const files = new TempDirectory();
    stops.later(() => files.remove());
    writeFileSync(files.file("user"), "app\n");
    writeFileSync(files.file("password"), "wrong\n");
    const options = {
      address: own.address,
      userFile: files.file("user"),
      passwordFile: files.file("password"),
    };
    const replica = stops.add(new TestReplica(options));
    await eventuallyLogged(replica, "REDIS_DENIED");
    expect(await failure(replica.connection.call("PING", []))).to.have.property("code", "REDIS_DENIED");
    expect(replica.lines.join()).not.to.contain("wrong");
    files.replace("password", "first");
    await replica.next(true);
    await replica.connection.call("ACL", ["SETUSER", "app", "<first", ">second"]);
    files.replace("password", "second\r\n");
    await replica.connection
      .call("CLIENT", ["KILL", "TYPE", "normal", "SKIPME", "no"])
      .catch(() => undefined);
    await replica.next(false);
    await replica.next(true);
    expect(String(await replica.connection.call("ACL", ["WHOAMI"]))).to.equal("app");
  });

  it("does not log a password that Redis repeats when it refuses it", async () => {
    const own = await ownServer("--rename-command", "AUTH", "");
    const files = new TempDirectory();
    stops.later(() => files.remove());
    writeFileSync(files.file("password"), "correct horse");
    const replica = stops.add(
      new TestReplica({ address: own.address, passwordFile: files.file("password") }),
    );
    await eventuallyLogged(replica, "with args beginning with: '***'");
    const failed = await failure(replica.connection.call("PING", []));
    expect(inspect(failed, { depth: 9 }) + replica.lines.join()).not.to.contain("correct horse");
  });

  it("says which file it can't read, and goes on when it can", async () => {
    const files = new TempDirectory();
    stops.later(() => files.remove());
    const passwordFile = files.file("password");
    const replica = stops.add(new TestReplica({ address: server.address, passwordFile }));
    await eventuallyLogged(replica, "FILE_UNREADABLE");
    expect(replica.lines.join()).to.contain(`the file ${passwordFile} can't be used: ENOENT`);
    // This Redis has no password: one that is presented all the same keeps nobody out.
    files.replace("password", "any");
    await replica.next(true);
  });

  it("uses its own database", async () => {
    const { connection } = stops.add(await TestReplica.connected({ address: `${server.address}/3` }));
    await connection.call("SET", ["in-three", "1"]);
    expect(await server.command("EXISTS", "in-three")).to.equal(0);
  });

  it("does not use a replica of Redis, and gives up one that becomes it", async () => {
    const own = await ownServer();
    const replica = stops.add(await TestReplica.connected({ address: own.address }));
    await own.command("REPLICAOF", "127.0.0.1", server.port);
    await replica.connection.call("SET", ["a", "b"]).catch(() => undefined);
    await replica.next(false);
    await eventuallyLogged(replica, "REDIS_READ_ONLY");
    await own.command("REPLICAOF", "NO", "ONE");
    await replica.next(true);
  });

  it("names full memory, and commands that the user may not use", async () => {
    const own = await ownServer("--maxmemory-policy", "noeviction");
    const { connection } = stops.add(await TestReplica.connected({ address: own.address }));
    await connection.call("CONFIG", ["SET", "maxmemory", "1"]);
    expect(await failure(connection.call("SET", ["k", "x"]))).to.have.property("code", "REDIS_FULL");
    const setting = script("return redis.call('SET', KEYS[1], 'x')", answerOf.nothing);
    expect(await failure(connection.evaluate(setting, ["k"], []))).to.have.property("code", "REDIS_FULL");
    await connection.call("ACL", ["SETUSER", "default", "-ping"]);
    expect(await failure(connection.call("PING", []))).to.have.property("code", "REDIS_DENIED");
    expect(await failure(connection.call("NONSENSE", []))).to.have.property("code", "REDIS_FAILED");
    expect(connection.isUp).to.equal(true);
  });

  it("speaks TLS, presents its certificate, and refuses a server of another authority", async () => {
    const files = new TempDirectory();
    stops.later(() => files.remove());
    const [authority, other] = [await Authority.create(), await Authority.create("another")];
    for (const name of ["server", "client"]) {
      const { cert, key } = await authority.issue();
      writeFileSync(files.file(`${name}.crt`), cert);
      writeFileSync(files.file(`${name}.key`), key);
    }
    writeFileSync(files.file("ca.crt"), authority.cert);
    writeFileSync(files.file("trusted.crt"), "none");
    const tls = ["--tls-ca-cert-file", files.file("ca.crt"), "--tls-cert-file", files.file("server.crt")];
    const own = await ownServer(
      "--tls-key-file",
      files.file("server.key"),
      ...tls,
      "--port",
      "0",
      "--tls-port",
      "@",
    );
    const replica = stops.add(
      new TestReplica({
        address: own.address.replace("redis:", "rediss:"),
        tlsCaFile: files.file("trusted.crt"),
        tlsCertFile: files.file("client.crt"),
        tlsKeyFile: files.file("client.key"),
      }),
    );
    await eventuallyLogged(
      replica,
      `${files.file("trusted.crt")} can't be used: it has no certificate in PEM`,
    );
    files.replace("trusted.crt", other.cert);
    await eventuallyLogged(replica, "REDIS_AWAY");
    const key = readFileSync(files.file("client.key"), "utf8");
    files.replace("client.key", readFileSync(files.file("server.key"), "utf8"));
    await eventuallyLogged(
      replica,
      `${files.file("client.crt")} with ${files.file("client.key")} can't be used: `,
    );
    files.replace("client.key", key);
    files.replace("trusted.crt", authority.cert);
    await replica.next(true);
    expect(String(await replica.connection.call("PING", []))).to.equal("PONG");
  });

  it("ends a connection on which something is answered that no script answers, and says so", async () => {
    const texts = script("", answerOf.texts(2));
    const cases: readonly (readonly [reply: string, asked: Script<unknown>])[] = [
      [":5", texts],
      ["*3\r\n:1\r\n:2\r\n:3", texts],
      ["*1\r\n-ERR within", texts],
      ["*1\r\n*0", texts],
      [`*1\r\n$2000\r\n${"x".repeat(2_000)}`, texts],
      ["*1\r\n+taken", script("", answerOf.stated(["held"]))],
      ["*1\r\n+taken", script("", answerOf.buffers(["record"], 9))],
      ["*1\r\n$-1", script("", answerOf.buffers(["record"], 9))],
      ["+OK", script("", answerOf.nothing)],
      [":2", script("", answerOf.flag)],
    ];
    for (const [reply, asked] of cases) {
      const lying = stops.add(await LyingRedis.start((socket) => socket.write(`${reply}\r\n`), true));
      const replica = stops.add(await TestReplica.connected({ address: `redis://127.0.0.1:${lying.port}` }));
      expect(await codeOf(replica.connection.evaluate(asked, [], [])), reply).to.equal("REDIS_FAILED");
      await replica.next(false);
      await eventuallyLogged(replica, "in a form that no command of ours has");
    }
  });

  it("logs one line for each new reason, however often it tries", async () => {
    const proxy = await FaultProxy.start(1);
    stops.later(() => proxy.close());
    const replica = stops.add(new TestReplica({ address: `redis://127.0.0.1:${proxy.port}` }));
    await eventually(() => proxy.accepted >= 4, "some attempts");
    const [line, another] = replica.lines.filter((each) => each.includes("REDIS_AWAY"));
    expect(another).to.equal(undefined);
    expect(line?.split("there is no connection to Redis"), "says it once").to.have.length(2);
    proxy.setTarget(server.port);
    await replica.next(true);
    expect(replica.lines.filter((line) => line.includes("Redis is back"))).to.have.length(1);
  });
});

async function eventuallyLogged(replica: TestReplica, text: string): Promise<void> {
  await eventually(() => replica.lines.some((line) => line.includes(text)), text);
}
