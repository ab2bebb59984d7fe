import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { hostAndPort } from "@bunting/runtime";
import { ServerCredentials } from "@grpc/grpc-js";
import { expect } from "chai";
import { startFlagdServer } from "@bunting/test/support/flagd-server.js";
import { itOnIpv6 } from "@bunting/test/support/ipv6.js";
import { HttpServer } from "@bunting/test/support/http-server.js";
import { LocalProxy } from "@bunting/test/support/local-proxy.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { testTls } from "@bunting/test/support/faulty-api-server/index.js";
import { RemoteListener, type Listening } from "./remote.fixture.js";

const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
const of = (...keys: readonly string[]): string =>
  JSON.stringify({ flags: Object.fromEntries(keys.map((key) => [key, flag])) });

describe("a grpc remote", () => {
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  function listen(
    port: number,
    fields: Partial<Listening> & { readonly selector?: string } = {},
  ): RemoteListener {
    const { selector, ...more } = fields;
    const uri = `grpc://127.0.0.1:${port}`;
    const listener = new RemoteListener({
      provider: { type: "grpc", uri, ...(selector === undefined ? {} : { selector }) },
      hosts: [`http://127.0.0.1:${port}=127.0.0.1`],
      ...more,
    });
    stops.push(() => listener.stop());
    return listener;
  }

  async function startProxy(): Promise<{
    readonly proxy: LocalProxy;
    readonly write: (text: string) => void;
  }> {
    const directory = new TempDirectory();
    stops.push(() => directory.remove());
    const write = (text: string): void => {
      writeFileSync(path.join(directory.path, "shop.new"), text);
      renameSync(path.join(directory.path, "shop.new"), path.join(directory.path, "shop.json"));
    };
    write(of("one"));
    const proxy = await LocalProxy.start([`--source=dir:${directory.path}`]);
    stops.push(() => proxy.stop());
    return { proxy, write };
  }

  it("follows a FeatureFlag of another proxy, edit by edit", async () => {
    const { proxy, write } = await startProxy();
    const listener = listen(proxy.port, { selector: "default/shop" });
    const first = await listener.document("one");
    // The same object again, each interval.
    expect(await listener.document("one")).to.equal(first);
    const many = Array.from({ length: 20 }, (_, index) => `k${10 + index}`);
    write(of(...many, "one"));
    await listener.document(...many, "one");
    // A change of one flag of twenty comes as a delta.
    write(of(...many, "two"));
    await listener.document(...many, "two");
    write('{"flags":{}}');
    await listener.document();
  });

  it("says that a proxy has no such FeatureFlag, and follows it once there is one", async () => {
    const { proxy } = await startProxy();
    const { reason, message } = await listen(proxy.port, { selector: "default/other" }).failure();
    expect(reason).to.equal("Missing");
    expect(message).to.equal("the remote has no FeatureFlag default/other");
  });

  it("goes on when the proxy is back", async () => {
    const { proxy } = await startProxy();
    const listener = listen(proxy.port, { selector: "default/shop" });
    await listener.document("one");
    await proxy.stop();
    await listener.failure();
    const directory = new TempDirectory();
    stops.push(() => directory.remove());
    writeFileSync(path.join(directory.path, "shop.json"), of("two"));
    const next = await LocalProxy.start([`--source=dir:${directory.path}`, `--port=${proxy.port}`]);
    stops.push(() => next.stop());
    await listener.document("two");
  });

  it("follows a server of flagd.sync.v1 only, with a token", async () => {
    const credentials = ServerCredentials.createInsecure();
    const { server, port } = await startFlagdServer({
      document: of("one"),
      credentials,
      token: "secret-token",
    });
    stops.push(() => server.forceShutdown());
    await listen(port, { selector: "default/shop", credential: "secret-token" }).document("one");
    await listen(port, { credential: "secret-token" }).document("one");
    const failure = await listen(port, { credential: "another-token" }).failure();
    expect(failure.reason).to.equal("Unauthenticated");
  });

  it("says that a document can't be served", async () => {
    const credentials = ServerCredentials.createInsecure();
    const { server, port } = await startFlagdServer({ document: "[".repeat(5_000), credentials });
    stops.push(() => server.forceShutdown());
    expect((await listen(port).failure()).reason).to.equal("DocumentInvalid");
  });

  it("ends a message that is too large before it is read", async () => {
    const credentials = ServerCredentials.createInsecure();
    const { server, port } = await startFlagdServer({ document: of("one").padEnd(200_000), credentials });
    stops.push(() => server.forceShutdown());
    expect((await listen(port).failure()).reason).to.equal("TooLarge");
  });

  it("trusts the authority of the Secret only, by TLS", async () => {
    const pair = { private_key: testTls.key, cert_chain: testTls.cert };
    const credentials = ServerCredentials.createSsl(null, [pair]);
    const { server, port } = await startFlagdServer({ document: of("one"), credentials });
    stops.push(() => server.forceShutdown());
    const secure = {
      provider: { type: "grpc", uri: `grpcs://127.0.0.1:${port}` },
      hosts: [`127.0.0.1:${port}=127.0.0.1`],
    } as const;
    await listen(port, { ...secure, ca: String(testTls.ca) }).document("one");
    expect((await listen(port, secure).failure()).reason).to.equal("Unavailable");
    expect((await listen(port, { ...secure, ca: "no PEM" }).failure()).reason).to.be.oneOf([
      "Certificate",
      "Unavailable",
    ]);
  });

  it("calls no host that is not listed, nor an address that is not", async () => {
    const server = new HttpServer();
    await server.start();
    stops.push(() => server.stop());
    const { reason, message } = await listen(server.port, { hosts: [] }).failure();
    expect(reason, message).to.equal("HostRefused");
    const hosts = [`http://127.0.0.1:${server.port}`];
    expect((await listen(server.port, { hosts }).failure()).reason).to.equal("AddressRefused");
    expect(server.connections).to.equal(0);
  });

  for (const [other, answering] of [
    ["::1", "127.0.0.1"],
    ["127.0.0.1", "::1"],
  ] as const)
    for (const isSilent of [false, true])
      itOnIpv6(
        `is read at ${answering} at once where its name has ${other} as well, which ${isSilent ? "is silent" : "refuses"}`,
        async () => {
          const credentials = ServerCredentials.createInsecure();
          const address = hostAndPort(answering, 0);
          const { server, port } = await startFlagdServer({ document: of("one"), credentials, address });
          stops.push(() => server.forceShutdown());
          if (isSilent) {
            const silent = createServer().listen(port, other);
            stops.push(() => silent.close());
            await once(silent, "listening");
          }
          const listener = listen(port, {
            provider: { type: "grpc", uri: `grpc://flags.example.com:${port}` },
            hosts: [`http://flags.example.com:${port}=127.0.0.1+::1`],
            addresses: [other, answering],
          });
          expect(await listener.heard.nextEvent()).to.have.property("document");
        },
      );

  it("goes by no proxy of the environment", async () => {
    const credentials = ServerCredentials.createInsecure();
    const { server, port } = await startFlagdServer({ document: of("one"), credentials });
    stops.push(() => server.forceShutdown());
    const before = process.env["grpc_proxy"];
    process.env["grpc_proxy"] = "http://127.0.0.1:1";
    stops.push(() => {
      if (before === undefined) delete process.env["grpc_proxy"];
      else process.env["grpc_proxy"] = before;
    });
    await listen(port).document("one");
  });
});
