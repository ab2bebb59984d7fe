import { hash } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type Server as HttpServer, type ServerResponse } from "node:http";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { buntingSyncV1, syncV1 } from "@bunting/protocol";
import { expect } from "chai";
import { runBunting } from "../support/cli-process.js";
import { binaries } from "../support/service-process.js";
import { prefixed } from "./support/hostile-peer.js";

const evil = "\u001b[2J\u001b]0;owned\u0007\r\u009b8m\u202eadmin\nlocalhost:8016: all is well";
const growsBelowMebibytes = 400;

/** Anything that a server can do to who asks it from a terminal. */
describe("the command bunting and a hostile server", () => {
  const servers: (Http2Server | HttpServer)[] = [];
  const sessions: ServerHttp2Session[] = [];
  afterEach(() => {
    for (const session of sessions.splice(0)) session.destroy();
    for (const server of servers.splice(0)) server.close();
  });

  async function serve(
    answer: (stream: ServerHttp2Stream, path: string) => void,
    settings = {},
  ): Promise<string> {
    const server = createServer({ settings });
    servers.push(server);
    server.on("session", (session) => {
      session.on("error", () => undefined);
      sessions.push(session);
    });
    server.on("stream", (stream, headers) => {
      stream.on("error", () => undefined);
      answer(stream, headers[":path"] ?? "");
    });
    return listen(server);
  }

  async function listen(server: Http2Server | HttpServer): Promise<string> {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  function serveHttp(answer: (response: ServerResponse) => void): Promise<string> {
    const server = createHttpServer((_, response) => answer(response));
    servers.push(server);
    return listen(server);
  }

  /** Answers of flagd.sync.v1 only. */
  function serveFlagd(answer: (stream: ServerHttp2Stream) => void): Promise<string> {
    return serve((stream, path) => {
      if (path.includes("flagd.sync")) {
        stream.respond({ ":status": 200, "content-type": "application/grpc" });
        answer(stream);
      } else stream.respond({ ":status": 200, "grpc-status": "12" }, { endStream: true });
    });
  }

  function flags(flagConfiguration: string): Buffer {
    return prefixed(syncV1.SyncFlagsResponse.encode({ flagConfiguration, syncContext: undefined }).finish());
  }

  async function diff(address: string): Promise<string> {
    const { code, out, err } = await runBunting(
      ["diff", "--timeout=20s", "-", `proxy://${address}/default/flags`],
      { stdin: `{"flags":{}}` },
    );
    expect(out).to.equal("");
    expect(code).to.equal(2);
    return err;
  }

  /** Follows until `done` holds of what was printed, and returns the most memory it took meanwhile. */
  async function tailUntil(address: string, done: (lines: number) => boolean): Promise<number> {
    const child = spawn(process.execPath, [binaries.cli, "tail", "default/flags", "--address", address], {
      env: {},
      stdio: ["ignore", "pipe", "pipe"],
    });
    let lines = 0;
    let peakKib = 0;
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding("utf8").on("data", (text: string) => {
        lines += text.split("\n").length - 1;
        if (lines % 50 === 0) look();
        if (done(lines)) child.kill("SIGINT");
      });
    }
    const look = (): void => {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      peakKib = Math.max(peakKib, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0));
    };
    await once(child, "close");
    return peakKib / 1024;
  }

  it("refuses a message that is announced as larger than any document", async () => {
    const address = await serveFlagd((stream) => stream.write(prefixed(Buffer.alloc(10), 0xffffffff)));
    expect(await diff(address)).to.contain(
      "the message has 4294967295 bytes, more than the 16777216 allowed",
    );
  });

  it("refuses a compressed message, which could be a bomb", async () => {
    const address = await serveFlagd((stream) => {
      const message = prefixed(gzipSync(Buffer.alloc(10_000_000, " ")));
      message[0] = 1;
      stream.write(message);
    });
    expect(await diff(address)).to.contain("it is compressed, which was not asked for");
  });

  it("refuses documents that are nested without end, or consist of the smallest parts", async () => {
    const deep = "[".repeat(5_000_000) + "]".repeat(5_000_000);
    expect(await diff(await serveFlagd((stream) => stream.write(flags(`{"flags":{"f":${deep}}}`))))).to.match(
      /^bunting: .{1,700}\n$/,
    );
    const many = `{"flags":[${"{},".repeat(5_000_000)}{}]}`;
    expect(await diff(await serveFlagd((stream) => stream.write(flags(many))))).to.match(
      /^bunting: .{1,700}\n$/,
    );
  }).timeout(60_000);

  it("waits for a message no longer than it was told to, however slowly that comes", async () => {
    const address = await serveFlagd((stream) => {
      stream.write(prefixed(Buffer.alloc(0), 1_000_000));
      const timer = setInterval(() => stream.write("x"), 5);
      stream.on("close", () => clearInterval(timer));
    });
    const { code, err } = await runBunting(
      ["diff", "--timeout=500ms", "-", `proxy://${address}/default/flags`],
      { stdin: `{"flags":{}}` },
    );
    expect(code).to.equal(2);
    expect(err).to.contain("it sent nothing for 0.5 s");
  });

  it("follows versions without end in bounded memory", async () => {
    let version = 0;
    const address = await serveFlagd((stream) => {
      const more = (): void => {
        while (!stream.destroyed) {
          const flag = { state: "ENABLED", variants: { a: ++version }, pad: "x".repeat(50_000) };
          if (!stream.write(flags(JSON.stringify({ flags: { f: flag } })))) break;
        }
      };
      stream.on("drain", more);
      more();
    });
    const peakMebibytes = await tailUntil(address, (lines) => lines > 6_000);
    expect(peakMebibytes).to.be.within(20, growsBelowMebibytes);
  }).timeout(120_000);

  it("ends a stream of a server that wants answers and reads none", async () => {
    let streams = 0;
    const address = await serve(
      (stream) => {
        streams++;
        stream.respond({ ":status": 200, "content-type": "application/grpc" });
        stream.pause();
        const version = { uid: "", generation: "0", resourceVersion: "", digest: Buffer.alloc(32) };
        const refused = { $case: "unchanged", value: { topic: "default/flags", version } } as const;
        const message = prefixed(buntingSyncV1.SyncResponse.encode({ message: refused }).finish());
        const batch = Buffer.concat(Array.from({ length: 1_000 }, () => message));
        const more = (): void => {
          while (!stream.destroyed) if (!stream.write(batch)) break;
        };
        stream.on("drain", more);
        more();
      },
      { initialWindowSize: 0 },
    );
    const peakMebibytes = await tailUntil(address, () => streams > 1);
    expect(peakMebibytes).to.be.below(growsBelowMebibytes);
    expect(streams).to.be.greaterThan(1);
  }).timeout(60_000);

  it("shows on one line what a server says, and obeys nothing of it", async () => {
    const address = await serve((stream) => {
      stream.respond(
        { ":status": 200, "grpc-status": "7", "grpc-message": encodeURIComponent(evil) },
        { endStream: true },
      );
    });
    const { code, err } = await runBunting(["tail", "default/flags", "--address", address]);
    expect(code).to.equal(2);
    expect(err).to.equal(
      `bunting: ${address} refuses the subscription: \\u001b[2J\\u001b]0;owned\\u0007\\u000d\\u009b8m\\u202eadmin\\u000alocalhost:8016: all is well\n`,
    );
  });

  it("shows keys of flags on one line", async () => {
    const address = await serveFlagd((stream) =>
      stream.write(flags(JSON.stringify({ flags: { [evil]: { state: "ENABLED", variants: { a: 1 } } } }))),
    );
    const { code, out } = await runBunting(["diff", "-", `proxy://${address}/default/flags`], {
      stdin: `{"flags":{}}`,
    });
    expect(code).to.equal(1);
    expect(out.trimEnd().split("\n")).to.have.length(1);
    expect(out).to.not.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it("prints no control character to the pipe of a tail, whatever flags, values and versions are named", async () => {
    const address = await serve((stream, path) => {
      if (!path.includes("bunting.sync")) return;
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      const send = (resourceVersion: string, variants: object): void => {
        const flag = { state: "ENABLED", variants, defaultVariant: evil };
        const document = Buffer.from(JSON.stringify({ flags: { [evil]: flag } }));
        const digest = hash("sha256", resourceVersion, "buffer");
        const version = { uid: evil, generation: "1", resourceVersion, digest };
        const message = {
          $case: "snapshot",
          value: { topic: "default/flags", number: "1", version, document },
        } as const;
        stream.write(prefixed(buntingSyncV1.SyncResponse.encode({ message }).finish()));
      };
      send(evil, { [evil]: 1 });
      send(`${evil}2`, { [evil]: evil, "\u009b2J": [evil] });
    });
    const args = ["tail", "default/flags", "--limit=2", "--address", address];
    const { code, out, err } = await runBunting(args);
    expect(code, err).to.equal(0);
    expect(out + err).not.to.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(out)
      .to.contain("\\u001b[2J")
      .and.not.to.match(/^localhost:8016/m);
    const json = await runBunting([...args, "--json"]);
    expect(json.out).not.to.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    const [, line = ""] = json.out.split("\n");
    expect(JSON.parse(line)).to.have.property("resourceVersion", `${evil}2`);
  });

  it("shows the answer of an agent in lines of its own, whatever its reason, its error and its value are", async () => {
    const answers = [
      { code: 200, lines: 2, body: { key: evil, value: evil, reason: evil, variant: evil } },
      { code: 404, lines: 3, body: { key: evil, errorCode: evil, errorDetails: evil.repeat(1_000) } },
    ];
    for (const { code, lines, body } of answers) {
      const address = await serveHttp((response) => {
        response.statusCode = code;
        response.end(JSON.stringify(body));
      });
      const run = await runBunting([
        "eval",
        `agent://${address}`,
        "f",
        "--sync",
        "127.0.0.1:1",
        "--timeout=2s",
      ]);
      expect(run.out.trimEnd().split("\n"), run.out).to.have.length(lines);
      expect(run.out.length).to.be.below(20_000);
      expect(run.out + run.err).to.not.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }
  });

  it("shows a status of any shape, and obeys nothing of it", async () => {
    const odd = [null, 7, "x", [], { topic: 1, newest: 5, rejections: [null, { flag: {}, reason: evil }] }];
    const statuses = [
      { topics: odd, watches: null, version: evil, isReady: "yes", uptimeSeconds: "long" },
      { topics: [{ topic: evil, state: evil, staleReason: evil, newest: { afterMs: 3, digest: [] } }] },
      { topics: [], watches: { [evil]: 1 }, reason: "x".repeat(100_000) },
    ];
    let next = 0;
    const address = await serveHttp((response) => response.end(JSON.stringify(statuses[next++])));
    while (next < statuses.length) {
      const { code, out, err } = await runBunting(["status", "--address", address]);
      expect(err).to.equal("");
      expect(code).to.equal(1);
      expect(out).to.not.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
      expect(out).to.not.match(/^localhost:8016/m);
      for (const line of out.split("\n")) expect(line.length).to.be.below(3_000);
    }
  });

  it("gives up a status without end", async () => {
    const chunk = "x".repeat(1_000_000);
    const address = await serveHttp((response) => {
      const more = (): void => {
        while (!response.destroyed) if (!response.write(chunk)) break;
      };
      response.on("drain", more);
      more();
    });
    const { code, err } = await runBunting(["status", "--address", address]);
    expect(code).to.equal(2);
    expect(err).to.contain("the answer is larger than 16777216 bytes");
  });
});
