import type { JsonObject } from "@bunting/protocol";
import { shapes } from "@bunting/protocol/internal/document-shapes.fixture.js";
import { expect } from "chai";
import { mkdirSync, rmSync } from "node:fs";
import { startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { document as served, HttpServer } from "../support/http-server.js";
import { readMetric } from "../support/read-metric.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";

/** Two of these do not fit into what the flags of an agent may take. Each has a flag "shared", which says where it is from. */
const large = (seed: number, from: string): string => {
  const { flags } = JSON.parse(shapes["many flags of nothing"]?.(200_000, seed) ?? "") as JsonObject;
  return JSON.stringify({ flags: { ...(flags as JsonObject), shared: flag(from) } });
};
const small = (from: string): string => JSON.stringify({ flags: { shared: flag(from) } });

function flag(from: string): JsonObject {
  return { state: "ENABLED", variants: { from }, defaultVariant: "from" };
}

/** A source of some kind, whose newest document can be replaced. */
interface Kind {
  readonly source: object;
  readonly put: (document: string) => void;
}

describe("a document for which another source has left an agent no room", () => {
  let directory: TempDirectory;
  let http: HttpServer;
  let origin: string;
  let api: FaultyApiServer;
  let proxy: ProxyProcess;
  let agent: AgentProcess;
  before(async () => {
    http = new HttpServer();
    origin = await http.start();
    api = await FaultyApiServer.start();
  });
  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("token", "token");
    directory.replace("ca.crt", api.ca.toString());
    directory.replace("namespace", "shop");
    mkdirSync(directory.file("flags"));
    proxy = await startProxy(directory.file("flags"));
  });
  afterEach(async () => {
    await agent.process.stop();
    await proxy.process.stop();
    directory.remove();
  });
  after(async () => {
    await api.close();
    await http.stop();
  });

  const kinds: Readonly<Record<string, () => Kind>> = {
    file: () => ({
      source: { provider: "file", uri: directory.file("second.json") },
      put: (document) => directory.replace("second.json", document),
    }),
    http: () => ({
      source: { provider: "http", uri: `${origin}/flags.json`, interval: 1 },
      put: (document) => {
        http.answer = served(document);
      },
    }),
    "grpc of a proxy": () => ({
      source: { provider: "grpc", uri: proxy.sync, selector: "core.openfeature.dev/shop/flags" },
      put: (document) =>
        directory.replace(
          "flags/flags.json",
          `{"apiVersion":"core.openfeature.dev/v1beta1","kind":"FeatureFlag","metadata":{"name":"flags","namespace":"shop"},"spec":{"flagSpec":${document}}}`,
        ),
    }),
    kubernetes: () => ({
      source: { provider: "kubernetes", uri: "shop/flags" },
      put: (document) => api.put("shop", "flags", { flagSpec: JSON.parse(document) as object }),
    }),
  };
  for (const [name, kindOf] of Object.entries(kinds))
    it(`is served once the other one has become smaller, and goes before it as ever, from ${name}`, async () => {
      const { source, put } = kindOf();
      directory.replace("first.json", small("first"));
      put(small("second"));
      agent = await startAgent(
        [
          ...["--service-account-directory", directory.path, "--sources"],
          JSON.stringify([{ provider: "file", uri: directory.file("first.json") }, source]),
        ],
        { env: { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) } },
      );
      await eventually(async () => (await sharedIsFrom()) === "second", "the flags of both");
      directory.replace("first.json", large(1, "first"));
      await eventually(async () => (await flags()) > 100, "the flags of the first");
      put(large(2, "second, newer"));
      const refused = await agent.process.nextLog(
        "a flag document was refused; the previous flags are still served",
      );
      expect(refused).to.include({ code: "DOCUMENT_TOO_LARGE", sourceIndex: 1 });
      expect(await sharedIsFrom()).to.equal("second");
      directory.replace("first.json", small("first, newer"));
      await eventually(async () => (await sharedIsFrom()) === "second, newer", "what was refused");
    });

  it("stays on disk as the copy of a source that is away, and is served once the other one has become smaller", async () => {
    const sources = ["first.json", "second.json"].map((name) => ["--uri", `file:${directory.file(name)}`]);
    const copies = ["--cache-dir", directory.file("copies")];
    for (const [index, name] of ["first", "second"].entries()) {
      directory.replace(`${name}.json`, large(index, name));
      agent = await startAgent([...(sources[index] ?? []), ...copies]);
      await eventually(async () => (await sharedIsFrom()) === name, "the flags of one");
      await agent.process.stop();
      rmSync(directory.file(`${name}.json`));
    }
    agent = await startAgent([...sources.flat(), ...copies]);
    expect(await sharedIsFrom()).to.equal("first");
    directory.replace("first.json", small("first, newer"));
    await eventually(async () => (await sharedIsFrom()) === "second", "the copy of the second");
  });

  async function flags(): Promise<number> {
    return readMetric(agent.management, "bunting_agent_store_flags");
  }

  async function sharedIsFrom(): Promise<unknown> {
    const url = `${agent.ofrep}/ofrep/v1/evaluate/flags/shared`;
    const answer = (await (await fetch(url, { method: "POST", body: "{}" })).json()) as JsonObject;
    return answer["value"];
  }
});
