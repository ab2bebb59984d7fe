import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { expect } from "chai";
import { describeBindError, type ListenEndpoint } from "./listen-endpoint.js";
import { PortListener } from "./port-listener.js";
import { bindWithMode, setOwnership } from "./unix-socket-file.js";
import {
  afterwards,
  bytesUnary,
  BytesClient,
  listen,
  rawClient,
  recordingLogger,
  releaseAfterEach,
  serve,
} from "@bunting/test/support/grpc-port.js";

const echo = bytesUnary("/t.T/Echo", (request) => request);

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "rpc-"));
  afterwards(() => {
    chmodSync(path, 0o755);
    rmSync(path, { recursive: true });
  });
  return path;
}

/** A socket file whose process was killed. */
function staleSocket(path: string): void {
  const script = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
  spawnSync(process.execPath, ["-e", script]);
  expect(lstatSync(path).isSocket()).to.equal(true);
}

async function bindError(endpoint: ListenEndpoint): Promise<string> {
  const listener = new PortListener({
    endpoint,
    optionName: "--socket-path",
    logger: recordingLogger(),
    http: () => undefined,
  });
  try {
    await listener.listen();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  await listener.close();
  return "it listens";
}

describe("PortListener on a unix socket", () => {
  releaseAfterEach();

  it("serves gRPC and HTTP/1.1, with the requested mode whatever the umask, and removes the file at the end", async () => {
    const socketPath = join(directory(), "flagd.sock");
    const umask = process.umask(0o077);
    afterwards(() => process.umask(umask));
    const listener = await serve([echo], {
      endpoint: { socketPath, mode: 0o666 },
      http: (_request, response) => response.end("plain"),
    });
    expect(statSync(socketPath).mode & 0o777).to.equal(0o666);
    expect(
      String(await new BytesClient(`unix:${socketPath}`).unary("/t.T/Echo", Buffer.from("ab"))),
    ).to.equal("ab");
    const [session] = listener.sessions;
    expect(session?.remoteAddress).to.equal("unix");
    const client = await rawClient(socketPath);
    client.send("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    await client.closed;
    expect(client.received).to.contain("plain");
    await listener.close();
    expect(existsSync(socketPath)).to.equal(false);
  });

  it("gives the file to the user and group it is told", async () => {
    const socketPath = join(directory(), "flagd.sock");
    const [own, group] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    // Only root may give it away.
    const [uid, gid] = own === 0 ? [65532, 4321] : [own, group];
    const listener = await serve([echo], { endpoint: { socketPath, mode: 0o660, uid, gid } });
    expect(statSync(socketPath)).to.include({ uid, gid });
    expect(statSync(socketPath).mode & 0o777).to.equal(0o660);
    await listener.close();
  });

  it("never has more permissions than the requested mode, not even while it is being bound", async () => {
    const socketPath = join(directory(), "flagd.sock");
    const umask = process.umask(0);
    afterwards(() => process.umask(umask));
    const server = createServer();
    bindWithMode(0o600, () => server.listen({ path: socketPath }));
    expect(statSync(socketPath).mode & 0o777).to.equal(0o600);
    expect(process.umask(0)).to.equal(0);
    await once(server, "listening");
    server.close();
    await once(server, "close");
  });

  for (const [what, put] of [
    ["a link", symlinkSync],
    ["a hard link", linkSync],
  ] as const)
    it(`changes neither owner nor mode of a file that ${what} in place of the socket leads to`, async () => {
      const parent = directory();
      const [target, socketPath] = [join(parent, "target"), join(parent, "flagd.sock")];
      writeFileSync(target, "not for others", { mode: 0o600 });
      put(target, socketPath);
      const [uid, gid] = process.getuid?.() === 0 ? [65532, 4321] : [-1, process.getgid?.() ?? -1];
      const before = statSync(target);

      for (const owners of [{}, { uid, gid }]) {
        const error: unknown = await setOwnership({ socketPath, mode: 0o666, ...owners }).catch(
          (cause: unknown) => cause,
        );
        expect(describeBindError(error, { socketPath }, "--socket-path")).to.equal(
          `another process has replaced the socket ${socketPath} while it was created: choose a directory that only this user may write to, with --socket-path`,
        );
      }

      const { mode, uid: owner, gid: group, ctimeMs } = statSync(target);
      expect({ mode, owner, group, ctimeMs }).to.deep.equal({
        mode: before.mode,
        owner: before.uid,
        group: before.gid,
        ctimeMs: before.ctimeMs,
      });
    });

  it("leaves a file alone that has its mode already", async () => {
    const socketPath = join(directory(), "flagd.sock");
    const server = createServer();
    afterwards(() => server.close());
    bindWithMode(0o600, () => server.listen({ path: socketPath }));
    await once(server, "listening");
    const before = statSync(socketPath).ctimeMs;
    await new Promise((resolve) => setTimeout(resolve, 20));

    await setOwnership({ socketPath, mode: 0o600 });

    expect(statSync(socketPath).ctimeMs).to.equal(before);
  });

  it("takes over the file of a process that was killed", async () => {
    const socketPath = join(directory(), "stale.sock");
    staleSocket(socketPath);
    await listen({ endpoint: { socketPath }, grpc: { onStream: () => undefined } });
    await rawClient(socketPath);
  });

  it("leaves the socket of a living process alone", async () => {
    const socketPath = join(directory(), "live.sock");
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(socketPath, resolve));
    afterwards(() => other.close());
    expect(await bindError({ socketPath })).to.equal(
      `another process listens on the socket ${socketPath}: stop that one, or choose another path with --socket-path`,
    );
    await rawClient(socketPath);
  });

  it("leaves a file alone that is not a socket", async () => {
    const parent = directory();
    const socketPath = join(parent, "notes.txt");
    writeFileSync(socketPath, "mine");
    mkdirSync(join(parent, "folder"));
    expect(await bindError({ socketPath })).to.contain("exists and is no socket");
    expect(await bindError({ socketPath: join(parent, "folder") })).to.contain("exists and is no socket");
    expect(existsSync(socketPath)).to.equal(true);
  });

  it("says that a directory is missing or is a file, or that the path is too long", async () => {
    const parent = directory();
    expect(await bindError({ socketPath: join(parent, "no", "a.sock") })).to.contain(
      `there is no directory ${join(parent, "no")}`,
    );
    writeFileSync(join(parent, "file"), "");
    expect(await bindError({ socketPath: join(parent, "file", "a.sock") })).to.contain(
      "there is no directory",
    );
    const long = join(parent, "x".repeat(120));
    expect(await bindError({ socketPath: long })).to.contain(
      `has ${Buffer.byteLength(long)} bytes, the system allows 107`,
    );
    const longest = join(parent, "y".repeat(107 - Buffer.byteLength(parent) - 1));
    expect(await bindError({ socketPath: longest })).to.equal("it listens");
  });
});

describe("describeBindError", () => {
  const socket = { socketPath: "/run/bunting/a.sock" };
  const withCode = (code: string): Error => Object.assign(new Error(code), { code });

  for (const [code, endpoint, part] of [
    [
      "EACCES",
      { port: 80 },
      "port 80 may not be used by this user: choose a port of 1024 or above with --port",
    ],
    [
      "EADDRNOTAVAIL",
      { port: 80, host: "10.9.9.9" },
      "10.9.9.9 is no address of this machine: choose one that is, or leave out --host",
    ],
    ["ENOTFOUND", { port: 80, host: "nowhere" }, "the host name nowhere can't be resolved"],
    ["EIO", { port: 80 }, "can't listen on port 80: EIO"],
    ["EACCES", socket, "make /run/bunting writable for it"],
    ["EROFS", socket, "read-only file system: mount a writable volume there"],
    ["ENOTOWNER", socket, "choose a group that the process belongs to, such as the fsGroup of its Pod"],
    ["EIO", socket, "can't listen on the socket /run/bunting/a.sock: EIO"],
  ] as const) {
    it(`explains ${code} of ${JSON.stringify(endpoint)}`, () => {
      expect(describeBindError(withCode(code), endpoint, "--port")).to.contain(part);
    });
  }
});
