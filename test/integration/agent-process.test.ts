import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { request } from "node:http";
import { status } from "@grpc/grpc-js";
import { expect } from "chai";
import { isReady, proxySources, startAgent } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy } from "../support/proxy-process.js";
import { scaled } from "../support/scale.js";
import { agentImage, binaries, ServiceProcess, type LogLine } from "../support/service-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

interface OfrepAnswer {
  readonly value?: unknown;
  readonly variant?: string;
  readonly reason?: string;
  readonly errorCode?: string;
  readonly metadata?: { readonly version?: number };
}

async function ask(
  ofrep: string,
  key: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<OfrepAnswer> {
  const response = await fetch(`${ofrep}/ofrep/v1/evaluate/flags/${key}`, { method: "POST", headers });
  return (await response.json()) as OfrepAnswer;
}

/** The output of a process that fails to start. */
async function refusal(args: readonly string[]): Promise<string> {
  const agent = new ServiceProcess(binaries.agent, { args, image: agentImage });
  expect(await agent.exit, agent.output).to.equal(1);
  return agent.words.join("\n");
}

/** The line with one of these messages, which may be logged before the ports for applications listen. */
async function logged(process: ServiceProcess, ...messages: readonly string[]): Promise<LogLine> {
  const find = (): LogLine | undefined => process.logs.find(({ msg }) => messages.includes(msg));
  await eventually(() => find() !== undefined, messages.join(" or "));
  return find() ?? expect.fail("it was there");
}

/** Resolves once the port takes no more connections. */
async function refuses(port: number): Promise<void> {
  await eventually(
    () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, "127.0.0.1");
        socket.once("connect", () => socket.destroy()).once("error", () => resolve(true));
        socket.once("close", () => resolve(false));
      }),
    "no more connections",
  );
}

/** The answer of the server to a client that sends this and then nothing. */
function slowly(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(bytes);
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    socket.once("close", () => resolve(text));
    socket.once("error", reject);
  });
}

describe("bunting-agent as a process", () => {
  let directory: TempDirectory;
  const running: ServiceProcess[] = [];

  const proxyOf = async (...args: readonly string[]) => {
    const proxy = await startProxy(directory.path, ["--drain-delay", "0", "--drain-window", "0", ...args]);
    running.push(proxy.process);
    return proxy;
  };
  const agentOf = async (...args: readonly string[]) => {
    const agent = await startAgent(args);
    running.push(agent.process);
    return agent;
  };

  beforeEach(() => (directory = new TempDirectory()));
  afterEach(async () => {
    for (const one of running.splice(0)) await one.stop("SIGKILL");
    directory.remove();
  });

  it("serves the flags of two sources of one proxy side by side (S-1)", async () => {
    directory.replace(
      "a.json",
      '{"flags":{"a":{"state":"ENABLED","variants":{"x":"A"},"defaultVariant":"x"}}}',
    );
    directory.replace(
      "b.json",
      '{"flags":{"b":{"state":"ENABLED","variants":{"x":"B"},"defaultVariant":"x"}}}',
    );
    const proxy = await proxyOf();
    const agent = await agentOf(...proxySources(proxy.sync, "default/a", "default/b"));
    await eventually(() => isReady(agent.management), "/readyz");
    expect((await ask(agent.ofrep, "a")).value).to.equal("A");
    expect((await ask(agent.ofrep, "b")).value).to.equal("B");
    directory.replace(
      "a.json",
      '{"flags":{"a":{"state":"ENABLED","variants":{"x":"A2"},"defaultVariant":"x"}}}',
    );
    await eventually(async () => (await ask(agent.ofrep, "a")).value === "A2", "the edit of one source");
    expect((await ask(agent.ofrep, "b")).value, "the other source's flags are still there").to.equal("B");
  });

  it("starts while the proxy is unreachable, is not ready until it has flags, and receives them soon after the proxy starts (S-2, S-3)", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    const reserved = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => reserved.once("listening", resolve));
    const { port } = reserved.address() as AddressInfo;
    await new Promise((resolve) => reserved.close(resolve));
    const agent = await agentOf(...proxySources(`127.0.0.1:${port}`, "default/flags"));
    await agent.process.nextLog("the source is unreachable; retrying");
    expect((await fetch(`${agent.management}/readyz`)).status).to.equal(412);
    expect((await ask(agent.ofrep, "on-off")).errorCode).to.equal("GENERAL");
    await proxyOf("--port", `${port}`);
    await eventually(() => isReady(agent.management), "/readyz once the proxy is there");
    expect((await ask(agent.ofrep, "on-off")).value).to.equal(true);
  });

  for (const policy of ["hold", "fail"]) {
    it(`is ready although one of its FeatureFlags is missing (--missing-policy=${policy})`, async () => {
      const proxy = await proxyOf("--missing-policy", policy);
      const agent = await agentOf(...proxySources(proxy.sync, "default/flags", "default/misspelt"));
      directory.replace("flags.yaml", manifest("flags", 1));
      await eventually(() => isReady(agent.management), "/readyz");
      const body = await (await fetch(`${agent.management}/readyz`)).text();
      expect(body).to.match(/source 1 .*\(default\/misspelt\).*no flags yet: /);
      expect(await (await fetch(`${agent.management}/metrics`)).text()).to.contain(
        'bunting_agent_sync_empty{source="1"} 1',
      );
      await eventually(
        async () => (await ask(agent.ofrep, "on-off")).value === true,
        "the other source's flags",
      );
    });
  }

  it("stays ready when the proxy is lost", async () => {
    const proxy = await proxyOf();
    directory.replace("flags.yaml", manifest("flags", 1));
    const agent = await agentOf(...proxySources(proxy.sync, "default/flags"));
    await eventually(() => isReady(agent.management), "/readyz");
    await proxy.process.stop("SIGKILL");
    await agent.process.nextLog(
      "lost the connection to the source; its last flags are still served while the agent reconnects",
    );
    const ready = await fetch(`${agent.management}/readyz`);
    expect(ready.status).to.equal(200);
    expect(await ready.text()).to.contain("ready, but flags may be stale");
    expect((await ask(agent.ofrep, "on-off")).value).to.equal(true);
    expect(await (await fetch(`${agent.management}/metrics`)).text()).to.contain(
      'bunting_agent_sync_connected{source="0"} 0',
    );
  });

  it("starts from its last-known-good while the proxy is unreachable, and never from the file of another source", async () => {
    directory.replace("flags.yaml", manifest("flags", 7));
    const cache = ["--cache-dir", directory.file("cache")];
    const proxy = await proxyOf();
    const first = await agentOf(...proxySources(proxy.sync, "default/flags"), ...cache);
    await eventually(() => isReady(first.management), "/readyz");
    expect(await first.process.stop()).to.equal(0);
    await proxy.process.stop();

    const second = await agentOf(...proxySources(proxy.sync, "default/flags"), ...cache);
    await eventually(() => isReady(second.management), "/readyz from the cache");
    expect((await ask(second.ofrep, "on-off")).metadata?.version).to.equal(7);
    const stranger = await agentOf(...proxySources(proxy.sync, "default/others"), ...cache);
    await stranger.process.nextLog("the source is unreachable; retrying");
    expect(await isReady(stranger.management)).to.equal(false);
  });

  for (const { what, flags, log } of [
    {
      what: "more flags than",
      flags: 60_000,
      log: "a flag document was refused; the previous flags are still served",
    },
    {
      what: "more bytes than",
      flags: 200_000,
      log: "what the source delivers now can't be used; its last flags are still served while the agent tries again",
    },
  ]) {
    it(`refuses a document of ${what} its heap has room for, and keeps running with the flags it had`, async () => {
      const small = (value: string): string =>
        JSON.stringify({ flags: { a: { state: "ENABLED", variants: { x: value }, defaultVariant: "x" } } });
      directory.replace("flags.json", small("before"));
      const agent = await agentOf("--uri", `file:${directory.file("flags.json")}`);
      await eventually(() => isReady(agent.management), "/readyz");
      const flag = { state: "ENABLED", variants: { x: 1 }, defaultVariant: "x" };
      const many = Object.fromEntries(Array.from({ length: flags }, (_, i) => [`f${i}`, flag]));
      directory.replace("flags.json", JSON.stringify({ flags: many }));
      const refused = await agent.process.nextLog(log);
      expect([refused["code"], refused["reason"]].join()).to.match(/DOCUMENT_TOO_LARGE|too_large/);
      expect((await ask(agent.ofrep, "a")).value).to.equal("before");
      directory.replace("flags.json", small("after"));
      await eventually(async () => (await ask(agent.ofrep, "a")).value === "after", "the next document");
    });
  }

  it("keeps serving when its file is deleted, where flagd drops all flags", async () => {
    directory.replace(
      "flags.json",
      '{"flags":{"a":{"state":"ENABLED","variants":{"x":1},"defaultVariant":"x"}}}',
    );
    const agent = await agentOf("--uri", `file:${directory.file("flags.json")}`);
    await eventually(() => isReady(agent.management), "/readyz");
    const { unlinkSync } = await import("node:fs");
    unlinkSync(directory.file("flags.json"));
    await eventually(() => agent.process.logs.some(({ level }) => level === "warn"), "a warning");
    expect((await ask(agent.ofrep, "a")).value).to.equal(1);
  });

  it("takes context from its options and from request headers", async () => {
    const targeting = { cat: [{ var: "fixed" }, "-", { var: "from" }] };
    const variants = { "f-h": "both", "f-": "fixed only" };
    directory.replace(
      "flags.json",
      JSON.stringify({ flags: { a: { state: "ENABLED", variants, defaultVariant: "f-", targeting } } }),
    );
    const agent = await agentOf(
      ...[
        "--uri",
        `file:${directory.file("flags.json")}`,
        "--context-value",
        "fixed=f",
        "--context-from-header",
        "X-From=from",
      ],
    );
    await eventually(() => isReady(agent.management), "/readyz");
    expect((await ask(agent.ofrep, "a", { "x-from": "h" })).value).to.equal("both");
    expect((await ask(agent.ofrep, "a")).value).to.equal("fixed only");
  });

  describe("sockets", () => {
    it("serves on unix sockets instead of TCP, with the configured mode, and removes them", async () => {
      directory.replace(
        "flags.json",
        '{"flags":{"a":{"state":"ENABLED","variants":{"x":true},"defaultVariant":"x"}}}',
      );
      const [evaluation, sync] = [directory.file("e.sock"), directory.file("s.sock")];
      const agent = await agentOf(
        ...[
          "--uri",
          `file:${directory.file("flags.json")}`,
          "--socket-path",
          evaluation,
          "--sync-socket-path",
          sync,
        ],
        ...["--socket-mode", "0660"],
      );
      await eventually(() => isReady(agent.management), "/readyz");
      expect(agent.ports.get("evaluation")).to.equal(0);
      expect(statSync(evaluation).mode & 0o777).to.equal(0o660);
      const body = await new Promise<string>((resolve, reject) => {
        const asked = request(
          {
            socketPath: evaluation,
            path: "/flagd.evaluation.v1.Service/ResolveBoolean",
            method: "POST",
            headers: { "content-type": "application/json" },
          },
          (response) => {
            let text = "";
            response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
            response.once("end", () => resolve(text));
          },
        );
        asked.once("error", reject);
        asked.end('{"flagKey":"a"}');
      });
      expect(JSON.parse(body)).to.include({ value: true, reason: "STATIC", variant: "x" });
      const client = new StockSyncClient(`unix:${sync}`);
      const message = await client.subscribe().messages.nextEvent();
      expect(Object.keys(message.flags)).to.deep.equal(["a"]);
      client.close();
      expect(await agent.process.stop()).to.equal(0);
      expect([existsSync(evaluation), existsSync(sync)]).to.deep.equal([false, false]);
    });

    it("replaces a socket file that no process listens on any more", async () => {
      directory.replace("flags.json", '{"flags":{}}');
      const socket = [
        "--socket-path",
        directory.file("e.sock"),
        "--uri",
        `file:${directory.file("flags.json")}`,
      ];
      const first = await agentOf(...socket);
      await first.process.stop("SIGKILL");
      expect(existsSync(directory.file("e.sock"))).to.equal(true);
      const second = await agentOf(...socket);
      expect(await second.process.stop()).to.equal(0);
    });

    it("fails to start where a socket can't be bound, with a message that names the path and the remedy", async () => {
      directory.replace("flags.json", '{"flags":{}}');
      const args = [
        "start",
        "--uri",
        `file:${directory.file("flags.json")}`,
        "--host",
        "127.0.0.1",
        "--management-port",
        "0",
      ];
      const ports = ["--sync-port", "0", "--ofrep-port", "0", "--port", "0"];
      const missing = directory.file("none/e.sock");
      expect(await refusal([...args, ...ports, "--socket-path", missing])).to.match(
        new RegExp(
          `^bunting-agent: there is no directory .*/none for the socket ${missing}: create it, or choose another path with --socket-path$`,
        ),
      );
      writeFileSync(directory.file("plain"), "");
      expect(await refusal([...args, ...ports, "--sync-socket-path", directory.file("plain")])).to.contain(
        "--sync-socket-path",
      );
    });
  });

  describe("start", () => {
    it("fails with a message where sources are missing, unsupported or invalid", async () => {
      expect(await refusal(["start"])).to.contain("--sources");
      expect(await refusal(["start", "--uri", "s3://bucket/flags.json"])).to.contain(
        "provider s3 is not supported; there are file, dir, http, grpc, kubernetes and remote",
      );
      expect(await refusal(["start", "--uri", "file:a.json", "--ofrep-prot", "1"])).to.contain(
        "unknown flag: --ofrep-prot (did you mean --ofrep-port?)",
      );
      for (const [flag, successor] of [
        ["--metrics-port", "--management-port"],
        ["--sync-provider", "--sources"],
      ] as const)
        expect(await refusal(["start", "--uri", "file:a.json", flag, "1"])).to.contain(
          `unknown flag: ${flag} (use ${successor})`,
        );
      expect(await refusal(["start", "--uri", "file:a.json", "--management-port", "8015"])).to.equal(
        "bunting-agent: --sync-port and --management-port are both 8015: choose another port with one of them",
      );
      expect(await refusal(["start", "--sources", "[{]"])).to.contain("--sources is not JSON");
      expect(await refusal(["start", "--uri", "file:a.json", "--socket-mode", "0999"])).to.contain(
        "--socket-mode",
      );
    });

    it("does not end outside of a Pod with provider kubernetes, and says what to do; the other source is served", async () => {
      directory.replace(
        "flags.json",
        '{"flags":{"a":{"state":"ENABLED","variants":{"x":1},"defaultVariant":"x"}}}',
      );
      const agent = await agentOf(
        "--uri",
        "core.openfeature.dev/demo/flags",
        "--uri",
        `file:${directory.file("flags.json")}`,
      );
      const warning = await logged(
        agent.process,
        "the source does not have what this agent is configured to ask for; retrying",
        "the source refuses this agent, or its credentials can't be read; retrying",
        "the source is unreachable; retrying",
      );
      expect(warning["error"]).to.match(/works in a Pod only .* run bunting-proxy/);
      await eventually(async () => (await ask(agent.ofrep, "a")).value === 1, "the flag of the file");
    });

    it("names the port that is taken", async () => {
      const taken = createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => taken.once("listening", resolve));
      const { port } = taken.address() as AddressInfo;
      const rest = [
        "--port",
        "0",
        "--management-port",
        "0",
        "--sync-port",
        "0",
        "--uri",
        "file:a.json",
        "--host",
        "127.0.0.1",
      ];
      expect(await refusal(["start", ...rest, "--ofrep-port", `${port}`])).to.equal(
        `bunting-agent: port ${port} of 127.0.0.1 is taken by another process: stop that one, or choose another port with --ofrep-port`,
      );
      taken.close();
    });

    it("serves without last-known-good copies if the --cache-dir is not writable, and logs that once", async () => {
      directory.replace("flags.json", '{"flags":{}}');
      mkdirSync(directory.file("locked"));
      writeFileSync(directory.file("locked/file"), "");
      chmodSync(directory.file("locked"), 0o500);
      // Not even root can write to a file in place of a directory.
      const agent = await agentOf(
        "--uri",
        `file:${directory.file("flags.json")}`,
        "--cache-dir",
        directory.file("locked/file"),
      );
      await eventually(() => isReady(agent.management), "/readyz");
      await eventually(() => agent.process.logs.some(({ level }) => level === "warn"), "a warning");
      chmodSync(directory.file("locked"), 0o700);
    });
  });

  it("answers 408 on its evaluation, management and OFREP ports to clients that send too slowly", async () => {
    directory.replace("flags.json", '{"flags":{}}');
    const agent = await agentOf("--uri", `file:${directory.file("flags.json")}`);
    const begun = "POST /ofrep/v1/evaluate/flags HTTP/1.1\r\nhost: x\r\nx-a: ";
    // Where there is room, those who have said little are borne with for half a minute; packages/server tests that with a short one.
    const partial = scaled(["PRI * HT", begun], [begun]);
    const ports = ["evaluation", "management", "ofrep"].map((service) => agent.ports.get(service) ?? 0);
    const answers = await Promise.all(ports.flatMap((port) => partial.map((bytes) => slowly(port, bytes))));
    for (const answer of answers) expect(answer).to.match(/^HTTP\/1\.1 40[08] /);
    const timedOut = answers.filter((answer) => answer.startsWith("HTTP/1.1 408"));
    expect(timedOut).to.have.length.at.least(answers.length - 1);
  });

  for (const signal of ["SIGTERM", "SIGHUP"] as const)
    it(`ends streams with UNAVAILABLE on ${signal}, and exits with 0 though clients hold connections`, async () => {
      directory.replace("flags.json", '{"flags":{}}');
      const agent = await agentOf("--uri", `file:${directory.file("flags.json")}`);
      const client = new StockSyncClient(agent.sync);
      const stream = client.subscribe();
      await stream.messages.nextEvent();
      const idle: Socket = connect(agent.ports.get("ofrep") ?? 0, "127.0.0.1");
      await new Promise((resolve) => idle.once("connect", resolve));
      const exit = agent.process.stop(signal);
      // A terminal that is closed sends it twice.
      if (signal === "SIGHUP") agent.process.child.kill(signal);
      expect((await stream.ended).code).to.equal(status.UNAVAILABLE);
      expect(await exit).to.equal(0);
      idle.destroy();
      client.close();
    });

  it("answers requests over HTTP/1.1 of which a part has arrived when it is told to stop, on each port", async () => {
    directory.replace(
      "flags.json",
      '{"flags":{"a":{"state":"ENABLED","variants":{"x":true},"defaultVariant":"x"}}}',
    );
    const agent = await agentOf("--uri", `file:${directory.file("flags.json")}`);
    await eventually(() => isReady(agent.management), "readiness");
    const body = '{"flagKey":"a","context":{}}';
    const head = `HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const requests = [
      ["evaluation", `POST /flagd.evaluation.v2.Service/ResolveBoolean ${head}${body}`, '"value":true'],
      ["ofrep", `POST /ofrep/v1/evaluate/flags/a ${head}${body}`, '"value":true'],
      ["management", "GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n", "HTTP/1.1 "],
    ] as const;
    const clients = await Promise.all(
      requests.map(async ([service, request, answer]) => {
        const port = agent.ports.get(service) ?? 0;
        // Asked and answered before, so that the rest meets a port that knows the connection.
        const socket = connect(port, "127.0.0.1").setEncoding("utf8");
        let received = "";
        socket.on("data", (text: string) => (received += text));
        const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
        socket.write(request);
        await eventually(() => received.includes(answer), "the answer");
        socket.write(request.slice(0, -5));
        return {
          port,
          socket,
          rest: request.slice(-5),
          closed,
          answers: () => received.split(answer).length - 1,
        };
      }),
    );
    // Answered after the agent has read what came before.
    await isReady(agent.management);
    const exit = agent.process.stop("SIGTERM");
    // In the order in which the ports close.
    for (const { port, socket, rest, closed, answers } of clients) {
      await refuses(port);
      socket.write(rest);
      await closed;
      expect(answers()).to.equal(2);
    }
    expect(await exit).to.equal(0);
  });

  it("answers those that ask on open connections when it is told to stop", async () => {
    directory.replace(
      "flags.json",
      '{"flags":{"a":{"state":"ENABLED","variants":{"x":true},"defaultVariant":"x"}}}',
    );
    const agent = await agentOf("--uri", `file:${directory.file("flags.json")}`);
    await eventually(() => isReady(agent.management), "readiness");
    const head = "HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 14\r\n";
    const question = `POST /ofrep/v1/evaluate/flags/a ${head}\r\n{"context":{}}`;
    // A header that only node's server reads makes some connections its own.
    const longer = question.replace("\r\n\r\n", "\r\nexpect: 100-continue\r\n\r\n");
    const clients = Array.from({ length: 16 }, (_, i) => {
      const socket = connect(agent.ports.get("ofrep") ?? 0, "127.0.0.1").setEncoding("utf8");
      const client = { socket, question: i % 2 === 0 ? question : longer, received: "" };
      socket.on("data", (text: string) => (client.received += text)).on("error", () => undefined);
      socket.write(client.question);
      return {
        ...client,
        get: () => client.received,
        closed: new Promise((end) => socket.once("close", end)),
      };
    });
    const answers = (text: string): number => text.split('"value":true').length - 1;
    await eventually(() => clients.every(({ get }) => answers(get()) === 1), "an answer to each");
    const exit = agent.process.stop("SIGTERM");
    for (const { socket, question: next } of clients) socket.write(next);
    await Promise.all(clients.map(({ closed }) => closed));
    expect(clients.map(({ get }) => answers(get()))).to.deep.equal(clients.map(() => 2));
    expect(await exit).to.equal(0);
  });
});
