import { once } from "node:events";
import { statSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:http2";
import { Client, credentials, Metadata, status, type StatusObject } from "@grpc/grpc-js";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { readMetric } from "../support/read-metric.js";
import { agentImage, binaries, ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

const flags = JSON.stringify({
  flags: { colour: { state: "ENABLED", variants: { red: "red" }, defaultVariant: "red" } },
});
const tokens = ["marker-of-the-first-token", "marker-of-the-second-token"] as const;
const refusal = "this agent needs a token of its --auth-token-file, as authorization: Bearer <token>";

/** What a client gets: whether it was answered, and how it was refused. */
interface Outcome {
  readonly isAnswered: boolean;
  readonly refusal?: unknown;
}

describe("bunting-agent with --auth-token-file", () => {
  const directory = new TempDirectory();
  let agent: AgentProcess;
  const seen: string[] = [];

  before(async () => {
    directory.replace("flags.json", flags);
    directory.replace("tokens", tokens.join("\n"));
    agent = await startAgent([
      "--uri",
      `file:${directory.file("flags.json")}`,
      "--auth-token-file",
      directory.file("tokens"),
      "--ofrep-sse-enabled",
      "--sync-http-enabled",
      "--debug",
    ]);
    await eventually(() => isReady(agent.management), "the agent is ready");
  });
  after(async () => {
    expect(await agent.process.stop()).to.equal(0);
    for (const token of tokens) expect(seen.join("\n") + agent.process.output).not.to.contain(token);
    directory.remove();
  });

  async function grpc(
    address: string,
    path: string,
    message: string,
    token: string | undefined,
  ): Promise<Outcome> {
    const client = new Client(address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
    try {
      return await new Promise<Outcome>((resolve) => {
        const metadata = new Metadata();
        if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
        const same = (bytes: Buffer): Buffer => bytes;
        const stream = client.makeServerStreamRequest(
          path,
          same,
          same,
          Buffer.from(message, "hex"),
          metadata,
        );
        stream.on("data", () => {
          resolve({ isAnswered: true });
          stream.cancel();
        });
        stream.on("error", () => undefined);
        stream.on("status", ({ code, details }: StatusObject) => {
          seen.push(details);
          resolve({ isAnswered: false, refusal: [code, details] });
        });
      });
    } finally {
      client.close();
    }
  }

  async function http(url: string, init: RequestInit, token: string | undefined): Promise<Outcome> {
    const abort = new AbortController();
    const headers = {
      ...(init.headers as object),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const answer = await fetch(url, { ...init, headers, signal: abort.signal });
    // Of a stream, the headers are enough.
    if (answer.headers.get("content-type")?.startsWith("text/event-stream") === true) {
      abort.abort();
      return { isAnswered: answer.status === 200 };
    }
    const body = await answer.text();
    seen.push(body);
    const isGrpcError = body.includes("grpc-status: 16") || body.includes('"error":{');
    return answer.status === 200 && !isGrpcError
      ? { isAnswered: true }
      : { isAnswered: false, refusal: [answer.status, answer.headers.get("www-authenticate"), body] };
  }

  it("answers nobody who presents several tokens, of which one is valid", async () => {
    const [token] = tokens;
    for (const authorization of [
      [`Bearer ${token}`, "Bearer other"],
      ["Bearer other", `Bearer ${token}`],
      ["", `Bearer ${token}`],
      [`Bearer ${token}`, `Bearer ${token}`],
    ])
      for (const url of [
        `${agent.ofrep}/ofrep/v1/evaluate/flags/colour`,
        `http://${agent.evaluation}/flagd.evaluation.v1.Service/ResolveString`,
      ]) {
        const status = await new Promise<number | undefined>((resolve, reject) => {
          const several = authorization.flatMap((value) => ["authorization", value]);
          const headers = ["host", "a", "content-type", "application/json", ...several];
          request(url, { method: "POST", headers, agent: false }, (response) => {
            response.resume();
            resolve(response.statusCode);
          })
            .on("error", reject)
            .end(`{"flagKey":"colour"}`);
        });
        expect(status, url).to.equal(401);
      }
  });

  // flag_key: "colour"
  const flagKey = "0a06636f6c6f7572";
  const post = (type: string, body: string | Buffer): RequestInit => ({
    method: "POST",
    headers: { "content-type": type },
    body,
  });
  const grpcRefusal = [status.UNAUTHENTICATED, refusal];
  const framed = (hex: string): Buffer => {
    const message = Buffer.from(hex, "hex");
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    return Buffer.concat([head, message]);
  };

  const calls: readonly (readonly [
    what: string,
    call: (token: string | undefined) => Promise<Outcome>,
    refusal: unknown,
  ])[] = [
    ...["flagd.evaluation.v2", "flagd.evaluation.v1", "schema.v1"].flatMap(
      (name) =>
        [
          [
            `an evaluation of ${name}`,
            (token) => grpc(agent.evaluation, `/${name}.Service/ResolveString`, flagKey, token),
            grpcRefusal,
          ],
          [
            `EventStream of ${name}`,
            (token) => grpc(agent.evaluation, `/${name}.Service/EventStream`, "", token),
            grpcRefusal,
          ],
        ] as const satisfies typeof calls,
    ),
    [
      "Connect",
      (token) =>
        http(
          `http://${agent.evaluation}/flagd.evaluation.v1.Service/ResolveString`,
          post("application/json", '{"flagKey":"colour"}'),
          token,
        ),
      [401, "Bearer", JSON.stringify({ code: "unauthenticated", message: refusal })],
    ],
    [
      "gRPC-Web",
      async (token) => {
        const outcome = await http(
          `http://${agent.evaluation}/flagd.evaluation.v1.Service/ResolveString`,
          post("application/grpc-web", framed(flagKey)),
          token,
        );
        const isRefused = JSON.stringify(outcome).includes("grpc-status: 16");
        return { isAnswered: outcome.isAnswered, ...(isRefused ? { refusal: "grpc-status 16" } : {}) };
      },
      "grpc-status 16",
    ],
    [
      "OFREP for one flag",
      (token) => http(`${agent.ofrep}/ofrep/v1/evaluate/flags/colour`, post("application/json", "{}"), token),
      [401, "Bearer", JSON.stringify({ errorDetails: refusal })],
    ],
    [
      "OFREP for all flags",
      (token) => http(`${agent.ofrep}/ofrep/v1/evaluate/flags`, post("application/json", "{}"), token),
      [401, "Bearer", JSON.stringify({ errorDetails: refusal })],
    ],
    [
      "events of OFREP",
      (token) => http(`${agent.ofrep}/ofrep/v1/sse`, {}, token),
      [401, "Bearer", JSON.stringify({ errorDetails: refusal })],
    ],
    [
      "SyncFlags",
      (token) => grpc(agent.sync, "/flagd.sync.v1.FlagSyncService/SyncFlags", "", token),
      grpcRefusal,
    ],
    [
      "FetchAllFlags",
      (token) => grpc(agent.sync, "/flagd.sync.v1.FlagSyncService/FetchAllFlags", "", token),
      grpcRefusal,
    ],
    [
      "flags over HTTP",
      (token) => http(`http://${agent.sync}/v1/flags`, {}, token),
      [401, "Bearer", `${refusal}\n`],
    ],
  ];
  for (const [what, call, refused] of calls)
    it(`answers ${what} with a token of the file only`, async () => {
      for (const wrong of [undefined, "another", `${tokens[0]}x`])
        expect(await call(wrong), wrong).to.deep.equal({ isAnswered: false, refusal: refused });
      for (const token of tokens) expect(await call(token)).to.deep.equal({ isAnswered: true });
    });

  it("sends headers before it refuses a unary call over gRPC, so that clients do not retry it; of a stream, they would say that it is open", async () => {
    for (const [address, path, hasHeaders] of [
      [agent.evaluation, "/flagd.evaluation.v1.Service/ResolveString", true],
      [agent.sync, "/flagd.sync.v1.FlagSyncService/FetchAllFlags", true],
      [agent.evaluation, "/flagd.evaluation.v1.Service/EventStream", false],
      [agent.sync, "/flagd.sync.v1.FlagSyncService/SyncFlags", false],
      [agent.sync, "/bunting.sync.v1.SyncService/Sync", false],
    ] as const) {
      const session = connect(`http://${address}`);
      try {
        const call = session.request({
          ":method": "POST",
          ":path": path,
          "content-type": "application/grpc",
          te: "trailers",
        });
        call.end(framed(flagKey));
        const trailers = hasHeaders ? once(call, "trailers") : undefined;
        const head = (await once(call, "response")) as [object];
        if (hasHeaders) expect(head[0], path).not.to.have.property("grpc-status");
        const [last] = ((await trailers) ?? head) as [object];
        expect(last, path).to.include({ "grpc-status": String(status.UNAUTHENTICATED) });
      } finally {
        session.destroy();
      }
    }
  });

  it("counts what it refuses", async () => {
    const missing = 'bunting_agent_api_unauthenticated_total{reason="missing"}';
    const before = await readMetric(agent.management, missing).catch(() => 0);
    await http(`${agent.ofrep}/ofrep/v1/evaluate/flags`, post("application/json", "{}"), undefined);
    expect(await readMetric(agent.management, missing)).to.equal(before + 1);
  });

  it("needs no token for probes and metrics, nor for preflights of browsers, which can't carry one", async () => {
    for (const path of ["healthz", "readyz", "metrics"])
      expect((await fetch(`${agent.management}/${path}`)).status, path).to.equal(200);
    const health = await grpc(
      agent.management.replace("http://", ""),
      "/grpc.health.v1.Health/Check",
      "",
      undefined,
    );
    expect(health.isAnswered).to.equal(true);
    for (const url of [
      `${agent.ofrep}/ofrep/v1/evaluate/flags`,
      `http://${agent.evaluation}/flagd.evaluation.v1.Service/ResolveString`,
    ]) {
      const origin = "https://shop.example";
      const preflight = await fetch(url, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization",
        },
      });
      expect(preflight.status).to.equal(204);
      expect(preflight.headers.get("access-control-allow-headers")).to.equal("authorization");
      // The browser may show why.
      const answer = await fetch(url, {
        ...post("application/json", "{}"),
        headers: { origin, "content-type": "application/json" },
      });
      expect(answer.status).to.equal(401);
      expect(answer.headers.get("access-control-allow-origin")).to.equal("*");
    }
  });

  it("needs one on unix sockets too, and gives them the owners and the mode it is told", async () => {
    const path = directory.file("agent.sock");
    const groups = process.getgroups?.() ?? [];
    const gid = groups.at(-1) ?? process.getgid?.() ?? 0;
    const other = await startSocketAgent(path, gid);
    try {
      const { mode, gid: owner } = statSync(path);
      expect((mode & 0o777).toString(8)).to.equal("660");
      expect(owner).to.equal(gid);
      const method = "/flagd.evaluation.v1.Service/ResolveString";
      expect(await grpc(`unix:${path}`, method, flagKey, undefined)).to.deep.include({
        refusal: grpcRefusal,
      });
      expect(await grpc(`unix:${path}`, method, flagKey, tokens[1])).to.deep.equal({ isAnswered: true });
    } finally {
      expect(await other.stop()).to.equal(0);
    }
  });

  async function startSocketAgent(path: string, gid: number): Promise<ServiceProcess> {
    const process = new ServiceProcess(binaries.agent, {
      image: agentImage,
      args: [
        ...[
          "start",
          "--management-port",
          "0",
          "--sync-port",
          "0",
          "--ofrep-port",
          "0",
          "--host",
          "127.0.0.1",
        ],
        ...["--uri", `file:${directory.file("flags.json")}`, "--auth-token-file", directory.file("tokens")],
        ...["--socket-path", path, "--socket-mode", "0660", "--socket-gid", String(gid)],
      ],
    });
    const { port } = await process.nextLog("listening");
    for (let service: unknown; service !== "evaluation";)
      service = (await process.nextLog("listening"))["service"];
    await eventually(() => isReady(`http://127.0.0.1:${String(port)}`), "the agent is ready");
    return process;
  }

  it("does not start without a token that it can read, and says what to do", async () => {
    directory.replace("empty", "\n");
    for (const [name, problem] of [
      ["none", "can't be read (ENOENT): name a file that this user may read with --auth-token-file"],
      ["empty", "has no token: write one a line"],
    ] as const) {
      const one = new ServiceProcess(binaries.agent, {
        args: [
          "start",
          "--uri",
          `file:${directory.file("flags.json")}`,
          "--auth-token-file",
          directory.file(name),
        ],
        image: agentImage,
      });
      expect(await one.exit, one.output).to.equal(1);
      expect(one.words.join("\n")).to.contain(problem);
    }
  });
});
