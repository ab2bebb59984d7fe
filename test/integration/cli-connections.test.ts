import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { ServerCredentials, type Server } from "@grpc/grpc-js";
import { expect } from "chai";
import { proxySources, startAgent } from "../support/agent-process.js";
import { FollowedCommand, runBunting } from "../support/cli-process.js";
import { testTls } from "../support/faulty-api-server/index.js";
import { startFlagdServer } from "../support/flagd-server.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";

const document = `{"flags":{"f":{"state":"ENABLED","variants":{"a":1},"defaultVariant":"a"}}}`;
const token = "eyJhbGciOi.JSUzI1NiJ9-x_y=";

/** How commands reach servers: TLS, unix sockets, tokens, and ports that are not what the command needs. */
describe("connections of the command bunting", () => {
  let directory: TempDirectory;
  const servers: Server[] = [];
  beforeEach(() => {
    directory = new TempDirectory();
    writeFileSync(directory.file("token"), `${token}\n`);
  });
  afterEach(() => {
    for (const server of servers.splice(0)) server.forceShutdown();
    directory.remove();
  });

  /** A server of flagd.sync.v1 that wants the token. */
  async function serve(credentials: ServerCredentials, address = "127.0.0.1:0"): Promise<number> {
    const { server, port } = await startFlagdServer({ document, credentials, address, token });
    servers.push(server);
    return port;
  }

  function overTls(): Promise<number> {
    return serve(ServerCredentials.createSsl(null, [{ private_key: testTls.key, cert_chain: testTls.cert }]));
  }

  function tail(address: string, ...options: readonly string[]): ReturnType<typeof runBunting> {
    return runBunting(["tail", "default/flags", "--limit=1", "--json", "--address", address, ...options]);
  }

  it("reach a proxy over TLS, with a token", async () => {
    const port = await overTls();
    const options = ["--ca-file", testTls.caFile, "--token-file", directory.file("token")];
    const { code, out, err } = await tail(`localhost:${port}`, ...options);
    expect(code, err).to.equal(0);
    expect(JSON.parse(out)).to.deep.include({ event: "version", flags: 1 });
    const file = directory.file("flags.json");
    writeFileSync(file, document);
    expect(
      await runBunting(["diff", file, `proxy://127.0.0.1:${port}/default/flags`, ...options]),
    ).to.deep.equal({
      code: 0,
      out: "",
      err: "",
    });
  });

  it("reach a server on a unix socket", async () => {
    const socket = `unix:${directory.file("sync.sock")}`;
    await serve(ServerCredentials.createInsecure(), socket);
    const options = ["--token-file", directory.file("token")];
    const { code, out, err } = await tail(socket, ...options);
    expect(code, err).to.equal(0);
    expect(JSON.parse(out)).to.deep.include({ event: "version", flags: 1 });
    const file = directory.file("flags.json");
    writeFileSync(file, document);
    expect((await runBunting(["diff", file, `proxy://${socket}/default/flags`, ...options])).err).to.equal(
      "",
    );
  });

  it("end with a sentence where TLS or the token is wrong", async () => {
    const port = await overTls();
    const withToken = ["--token-file", directory.file("token")];
    const untrusted = await tail(`localhost:${port}`, "--tls", ...withToken);
    expect(untrusted.code).to.equal(2);
    expect(untrusted.err).to.match(
      /^bunting: localhost:\d+ serves no flags: its certificate is not trusted: .* --ca-file/,
    );
    const named = ["--ca-file", testTls.caFile, "--tls-server-name=flags.service"];
    const other = await tail(`localhost:${port}`, ...named, ...withToken);
    expect(other).to.deep.include({ code: 2, out: "" });
    expect(other.err).to.contain("--tls-server-name");
    const without = await tail(`localhost:${port}`, "--ca-file", testTls.caFile);
    expect(without).to.deep.include({ code: 2, out: "" });
    expect(without.err).to.match(
      / refuses the subscription: this server wants a token\. Name .* --token-file\n$/,
    );
    writeFileSync(directory.file("token"), "two words");
    const broken = await tail(`localhost:${port}`, "--ca-file", testTls.caFile, ...withToken);
    expect(broken).to.deep.equal({
      code: 2,
      out: "",
      err: `bunting: "${directory.file("token")}" has no bearer token\n`,
    });
    const following = new FollowedCommand([
      ...["tail", "default/flags", "--json", "--address", `localhost:${port}`],
    ]);
    await following.untilNotes("Does the port want --tls?");
    expect((await following.interrupt()).code).to.equal(0);
    const plain = await tail("flags.example:8015", ...withToken);
    expect(plain).to.deep.include({ code: 2 });
    expect(plain.err).to.contain("would cross the network to flags.example:8015 in plaintext: use --tls");
  });

  it("end tail where a token has expired, is of another issuer, or may not read, and go on with the next one", async () => {
    const issuer = new TokenIssuer();
    directory.replace("jwks", issuer.keySet);
    directory.replace("flags.yaml", manifest("checkout", 1, "team-a"));
    const proxy = await startProxy(directory.path, [
      ...["--drain-delay=0", "--drain-window=0", "--auth=token", "--auth-issuer", issuer.name],
      ...["--auth-jwks-file", directory.file("jwks")],
    ]);
    const file = directory.file("token");
    const args = ["tail", "team-a/checkout", "--json", "--address", proxy.sync, "--token-file", file];
    try {
      writeFileSync(file, issuer.issue("team-a", "app", 3));
      const { code, out, err } = await runBunting(args);
      expect(code, err).to.equal(2);
      expect(out).to.contain('"event":"version"');
      expect(err).to.contain("has expired; connect again with a new one; trying again");
      expect(err).to.match(/ refuses the subscription: .* has expired.*\. The token was read from ".*"\n$/);

      writeFileSync(file, issuer.issue("team-a", "app", 3));
      const followed = new FollowedCommand(args);
      await followed.next();
      writeFileSync(file, issuer.issue("team-a", "app", 600));
      await followed.untilNotes("has expired; connect again with a new one");
      directory.replace("flags.yaml", manifest("checkout", 2, "team-a"));
      expect(await followed.next()).to.include({ event: "version" });
      expect((await followed.interrupt()).code).to.equal(0);

      for (const [foreign, words] of [
        [new TokenIssuer().issue("team-a", "app"), / refuses the subscription: .* The token was read from /],
        [issuer.issue("team-b", "app"), / refuses the subscription: .*team-b:app may not read /],
      ] as const) {
        writeFileSync(file, foreign);
        const refused = await runBunting(args);
        expect(refused.code, refused.err).to.equal(2);
        expect(refused.err).to.match(words);
      }
      const without = await runBunting(args.slice(0, 5));
      expect(without.code).to.equal(2);
      expect(without.err).to.match(/ Name a file with a token by --token-file\n$/);
    } finally {
      await proxy.process.stop("SIGKILL");
    }
  });

  it("ask for the status over TLS, with a token", async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer({ key: testTls.key, cert: testTls.cert }, (request, response) => {
      asked.push(request.headers.authorization);
      response.end(JSON.stringify({ version: "9.9.9", isReady: true, topics: [] }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const secure = ["--ca-file", testTls.caFile, "--token-file", directory.file("token")];
      const { code, out, err } = await runBunting(["status", "--address", address, ...secure]);
      expect(code, err).to.equal(0);
      expect(out).to.contain("bunting-proxy 9.9.9, ready");
      expect(asked).to.deep.equal([`Bearer ${token}`]);
      const plain = await runBunting(["status", "--address", address]);
      expect(plain).to.deep.include({ code: 2, out: "" });
    } finally {
      server.close();
    }
  });

  describe("to a port that is not what the command needs", () => {
    let proxy: ProxyProcess;
    let agent: Awaited<ReturnType<typeof startAgent>>;
    let flags: TempDirectory;
    before(async () => {
      flags = new TempDirectory();
      flags.replace("flags.yaml", manifest("flags", 1));
      proxy = await startProxy(flags.path);
      agent = await startAgent(proxySources(proxy.sync, "default/flags"));
    });
    after(async () => {
      await proxy.process.stop();
      await agent.process.stop();
      flags.remove();
    });

    const host = (url: string): string => new URL(url.includes("://") ? url : `http://${url}`).host;

    it("end tail, which says where the flags are", async () => {
      for (const [address, reason] of [
        [host(proxy.management), "it has neither bunting.sync.v1 nor flagd.sync.v1"],
        [host(agent.management), "it has neither bunting.sync.v1 nor flagd.sync.v1"],
        [host(agent.ofrep), "the port does not speak HTTP/2"],
      ] as const) {
        expect(await tail(address)).to.deep.equal({
          code: 2,
          out: "",
          err: `bunting: ${address} serves no flags: ${reason}. They are on the sync port of a proxy, 8015 by default, or of an agent: name it with --address\n`,
        });
      }
    });

    it("end status, which says where a status is", async () => {
      for (const [address, reason] of [
        [host(agent.management), "it is an agent's"],
        [host(agent.ofrep), "it answered 404"],
        [host(proxy.sync), "it answered 505"],
      ] as const) {
        expect(await runBunting(["status", "--address", address])).to.deep.equal({
          code: 2,
          out: "",
          err: `bunting: ${address} has no status of a proxy: ${reason}. Name the management port of a bunting-proxy, 8016 by default. How the sources of an agent are, its /readyz says, on port 8014\n`,
        });
      }
    });
  });
});
