import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseAllowedHost } from "@bunting/outbound/hosts";
import { eventually } from "@bunting/test/support/event-queue.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { createSyncSource } from "../create-source.fixture.js";
import type { RemoteSourceConfig } from "../source-config.js";
import type { RemoteCopies, SyncSource } from "../sync-source.js";
import { SourceProbe } from "../sync.fixture.js";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A document whose flags have one variant each. */
interface Served {
  readonly flags: Readonly<Record<string, { readonly variants: { readonly v: string } }>>;
}

function flag(value: string): object {
  return { state: "ENABLED", variants: { v: value }, defaultVariant: "v" };
}

function textOf(flags: Readonly<Record<string, string>>): string {
  return JSON.stringify({
    flags: Object.fromEntries(Object.entries(flags).map(([key, value]) => [key, flag(value)])),
  });
}

/** Copies in memory, as an earlier agent may have left them on disk. */
class KeptCopies implements RemoteCopies {
  bytes: Buffer | undefined;
  load(take: (sourceIndex: number, copy: { readonly bytes: Buffer }) => boolean): Promise<void> {
    if (this.bytes !== undefined) take(0, { bytes: this.bytes });
    return Promise.resolve();
  }
  keep(_sourceIndex: number, bytes: Buffer): void {
    this.bytes = bytes;
  }
  flush(): Promise<void> {
    return Promise.resolve();
  }
}

describe("A source of provider remote", () => {
  let directory: TempDirectory;
  let server: Server;
  let answer: Answer;
  let asked: IncomingMessage[];
  let origin: string;
  let stops: (() => Promise<void>)[];
  beforeEach(async () => {
    directory = new TempDirectory();
    stops = [];
    asked = [];
    answer = document({ shared: "remote", theirs: "remote" });
    server = createServer((request, response) => {
      asked.push(request);
      answer(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    directory.replace("base.json", textOf({ shared: "own", ours: "own" }));
  });
  afterEach(async () => {
    for (const stop of stops) await stop();
    server.closeAllConnections();
    server.close();
    directory.remove();
  });

  function document(flags: Readonly<Record<string, string>>): Answer {
    return (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(textOf(flags));
    };
  }

  interface Running {
    readonly source: SyncSource;
    readonly probe: SourceProbe;
    /** Resolves when these flags are delivered, each of which is its value. */
    readonly has: (flags: Readonly<Record<string, string>>) => Promise<void>;
  }

  function run(
    fields: Partial<Omit<RemoteSourceConfig, "remote">> & {
      readonly remote?: Partial<RemoteSourceConfig["remote"]>;
    } = {},
    remoteCopies?: RemoteCopies,
    environment: Readonly<Record<string, string>> = {},
  ): Running {
    const probe = new SourceProbe();
    const config: RemoteSourceConfig = {
      ...{ provider: "remote", sourceIndex: 1, selector: "", path: directory.file("base.json") },
      ...{ certPath: "", tokenFile: "", tokenBinding: undefined, uri: origin },
      hosts: [parseAllowedHost(`${origin}=127.0.0.0/8`)],
      ...fields,
      remote: {
        ...{ type: "http", uri: `${origin}/flags.json`, strategy: "override", allowEmpty: false },
        intervalMs: 250,
        ...fields.remote,
      },
    };
    const options = {
      ...probe.options,
      pod: { environment, serviceAccountDirectory: "" },
      receiver: {
        ...probe.options.receiver,
        ...(remoteCopies === undefined ? {} : { remoteCopies: () => remoteCopies }),
      },
    };
    const source = createSyncSource(config, options);
    const abort = new AbortController();
    const ended = source.run(abort.signal);
    stops.push(() => {
      abort.abort();
      return ended;
    });
    const has = async (flags: Readonly<Record<string, string>>): Promise<void> => {
      const expected = JSON.stringify(sorted(flags));
      const isIt = ({ bytes }: { readonly bytes: Buffer }): boolean => {
        const delivered = JSON.parse(bytes.toString()) as Served;
        const values = Object.entries(delivered.flags).map(([key, { variants }]) => [key, variants.v]);
        return JSON.stringify(sorted(Object.fromEntries(values) as object)) === expected;
      };
      await probe.deliveries.nextMatching(isIt, expected);
    };
    return { source, probe, has };
  }

  function sorted(flags: object): object {
    return Object.fromEntries(Object.entries(flags).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  const both = { ours: "own", shared: "remote", theirs: "remote" };

  it("delivers both sides as one, and edits of both", async () => {
    const { source, has } = run();
    await has(both);
    await eventually(() => source.status().remote?.state === "synced", "it has answered");
    expect(source.status()).to.include({ state: "connected", error: undefined });
    expect(source.status().remote).to.deep.include({
      flags: { local: 1, remote: 2 },
      remoteFlags: ["shared", "theirs"],
    });
    directory.replace("base.json", textOf({ ours: "edited" }));
    await has({ ...both, ours: "edited" });
    answer = document({ shared: "newer" });
    await has({ ours: "edited", shared: "newer" });
  });

  it("delivers the file's own once the remote has failed, and says why", async () => {
    answer = (_request, response) => void response.writeHead(503).end();
    const { source, has, probe } = run();
    await has({ ours: "own", shared: "own" });
    await probe.failure("server_error");
    expect(source.status()).to.include({ state: "connecting" });
    expect(source.status().error).to.contain("answered 503");
    expect(source.status().remote).to.include({ state: "never", reason: "ServerError" });
    answer = document({ shared: "back" });
    await has({ ours: "own", shared: "back" });
    await eventually(() => source.status().state === "connected", "it is back");
  });

  it("is lost to a remote that fails although its file is refused as well, and says both", async () => {
    const { source, has } = run();
    await has(both);
    directory.replace("base.json", "{");
    await eventually(() => source.status().warning !== undefined, "the file is refused");
    expect(source.status()).to.include({ state: "connected", error: undefined });
    answer = (_request, response) => void response.writeHead(503).end();
    await eventually(() => source.status().state === "disconnected", "the remote is lost");
    expect(source.status().error).to.contain("answered 503");
    expect(source.status().warning).to.contain("base.json");
    directory.replace("base.json", textOf({ ours: "edited" }));
    await has({ ...both, ours: "edited" });
    await eventually(() => source.status().warning === undefined, "the file is not refused any more");
    expect(source.status()).to.include({ state: "disconnected" });
    directory.replace("base.json", "{");
    await eventually(() => source.status().warning !== undefined, "the file is refused again");
    answer = document({ shared: "back" });
    await eventually(() => source.status().state === "connected", "the remote is back");
    expect(source.status().warning).to.contain("base.json");
    expect(source.status().error).to.equal(undefined);
  });

  it("has answered with a file that is refused, although its remote fails", async () => {
    directory.replace("base.json", "{");
    answer = (_request, response) => void response.writeHead(503).end();
    const { source, probe } = run();
    await eventually(() => probe.answersWithout.includes(1), "it has answered");
    await probe.failure("server_error");
    expect(source.status().state).to.not.equal("connected");
  });

  it("delivers the file's own although the remote says nothing at all", async () => {
    answer = () => undefined;
    const { has, source } = run();
    await has({ ours: "own", shared: "own" });
    expect(source.status().state).to.equal("connecting");
    directory.replace("base.json", textOf({ ours: "edited" }));
    await has({ ours: "edited" });
  });

  it("keeps what the remote said last when that answers garbage, half, nothing or an error", async () => {
    const { source, has } = run();
    await has(both);
    for (const [bad, told] of [
      [(_: IncomingMessage, response: ServerResponse) => void response.end("<html>"), /no JSON/],
      [(_: IncomingMessage, response: ServerResponse) => void response.end('{"flags":{"a"'), /only a part/],
      [(_: IncomingMessage, response: ServerResponse) => void response.writeHead(404).end(), /404/],
      [(request: IncomingMessage) => void request.socket.destroy(), /./],
    ] as const) {
      answer = bad;
      await eventually(() => {
        const { error, warning } = source.status();
        return told.test(error ?? warning ?? "");
      }, String(told));
      directory.replace("base.json", textOf({ ours: String(told) }));
      await has({ ...both, ours: String(told) });
    }
    answer = document({ theirs: "back" });
    await has({ ours: "/./", theirs: "back" });
  });

  it("keeps more than ten flags that the remote has no more, unless it may be empty", async () => {
    const many = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`k${index}`, "v"]));
    answer = document(many);
    const held = run();
    await held.has({ ...many, ours: "own", shared: "own" });
    answer = document({});
    await eventually(() => held.source.status().remote?.state === "held", "it is held");
    expect(held.source.status().warning).to.contain("no flags any more, and had 11");
    directory.replace("base.json", textOf({ ours: "edited" }));
    await held.has({ ...many, ours: "edited" });
    answer = document(many);
    const free = run({ remote: { allowEmpty: true } });
    await free.has({ ...many, ours: "edited" });
    answer = document({});
    await free.has({ ours: "edited" });
  });

  it("shows the token of its file, and another one after it was refused and rotated", async () => {
    directory.replace("token", "first");
    const current = { token: "first" };
    answer = (request, response) => {
      if (request.headers.authorization === `Bearer ${current.token}`)
        document({ shared: current.token })(request, response);
      else response.writeHead(401).end();
    };
    const { source, has, probe } = run({ tokenFile: directory.file("token") });
    await has({ ours: "own", shared: "first" });
    current.token = "second";
    await probe.failure("unauthorized");
    expect(source.status().cause).to.equal("refused");
    directory.replace("token", "second");
    await has({ ours: "own", shared: "second" });
  });

  it("sends nothing while its token can't be read, and says which file it is", async () => {
    const { source, has, probe } = run({ tokenFile: directory.file("none") });
    await has({ ours: "own", shared: "own" });
    await probe.failure("credentials");
    expect(source.status().error).to.contain(directory.file("none"));
    expect(asked).to.deep.equal([]);
    directory.replace("none", "it");
    await has(both);
    expect(asked[0]?.headers.authorization).to.equal("Bearer it");
  });

  it("calls no host that is not listed, nor one that is not public, unless the list has its network", async () => {
    for (const hosts of [[], [parseAllowedHost(origin)]]) {
      const { source, has } = run({ hosts });
      await has({ ours: "own", shared: "own" });
      await eventually(() => source.status().error !== undefined, "why");
      expect(source.status().error).to.match(hosts.length === 0 ? /not in --remote-hosts/ : /loopback/);
      expect(source.status().cause).to.equal("misconfigured");
    }
    expect(asked).to.deep.equal([]);
  });

  it("takes the API server's address for no remote's, though it may be public", async () => {
    const uri = "http://34.1.0.1/flags.json";
    const { source, has } = run(
      { uri, remote: { uri }, hosts: [parseAllowedHost("http://34.1.0.1")] },
      undefined,
      {
        KUBERNETES_SERVICE_HOST: "34.1.0.1",
      },
    );
    await has({ ours: "own", shared: "own" });
    await eventually(() => source.status().remote?.reason === "AddressRefused", "the refusal");
  });

  it("says which flags are left out, and which evaluators are served under other names", async () => {
    const using = (name: string, value: string): object => ({
      ...flag(value),
      targeting: { if: [{ $ref: name }, "v", null] },
    });
    const own = { flags: { ours: using("e", "own") }, $evaluators: { e: { "==": [{ var: "a" }, 1] } } };
    directory.replace("base.json", JSON.stringify(own));
    const theirs = {
      flags: { theirs: using("e", "remote"), broken: { state: 1 } },
      $evaluators: { e: { "==": [{ var: "a" }, 2] } },
    };
    answer = (_request, response) => void response.end(JSON.stringify(theirs));
    const { source, has, probe } = run();
    await has({ ours: "own", theirs: "remote" });
    await eventually(() => source.status().remote?.state === "synced", "it has answered");
    const { remarks } = source.status().remote ?? {};
    expect(remarks).to.contain('left out: "broken"');
    expect(remarks).to.contain(`the evaluator "e" of the file ${directory.file("base.json")} is served as "`);
    expect(probe.logs.map(({ msg }) => msg)).to.include.members([
      "flags of a remote are left out",
      "the file's flags and the remote's are not merged as they are",
    ]);
  });

  it("begins with what the remote said last to an earlier agent", async () => {
    const copies = new KeptCopies();
    const first = run({}, copies);
    await first.has(both);
    await eventually(() => copies.bytes !== undefined, "it is kept");
    answer = (_request, response) => void response.writeHead(500).end();
    const second = run({}, copies);
    const delivered = await second.probe.nextDocument();
    expect(JSON.parse(delivered)).to.have.nested.property("flags.theirs");
    await eventually(() => second.source.status().remote?.state === "stale", "it has not answered this one");
    copies.bytes = Buffer.from("no flags");
    const third = run({}, copies);
    await third.has({ ours: "own", shared: "own" });
  });

  it("keeps what the remote said when it is begun anew, though the remote is away", async () => {
    const { source, has } = run();
    await has(both);
    answer = (_request, response) => void response.writeHead(500).end();
    source.askAgain();
    await eventually(() => source.status().remote?.message !== undefined, "the remote fails");
    directory.replace("base.json", textOf({ shared: "own", ours: "newer" }));
    await has({ ...both, ours: "newer" });
  });

  it("waits for its file, and goes on with the last one that could be read", async () => {
    const path = directory.file("later.json");
    const { source, has, probe } = run({ path });
    await probe.failure("missing");
    await eventually(() => asked.length > 1, "the remote was asked");
    expect(source.status().error).to.contain(`there is no file ${path}`);
    directory.replace("later.json", textOf({ ours: "there" }));
    await has({ ours: "there", shared: "remote", theirs: "remote" });
    directory.replace("later.json", "{");
    await eventually(() => source.status().warning !== undefined, "it is refused");
    expect(source.status().warning).to.contain(path);
    answer = document({ shared: "newer" });
    await has({ ours: "there", shared: "newer" });
  });
});
