import { gzipSync } from "node:zlib";
import { parseAllowedHost } from "@bunting/outbound/hosts";
import { eventually } from "@bunting/test/support/event-queue.js";
import { FastClock } from "@bunting/test/support/fast-clock.js";
import { HttpServer, type Answer } from "@bunting/test/support/http-server.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { createSyncSource } from "../create-source.fixture.js";
import type { SyncSource } from "../sync-source.js";
import { SourceProbe } from "../sync.fixture.js";

const flag = (value: string) => ({ state: "ENABLED", variants: { v: value }, defaultVariant: "v" });
const textOf = (key: string, value: string): string => JSON.stringify({ flags: { [key]: flag(value) } });
const deep = "[".repeat(50_000) + "]".repeat(50_000);
const json = { "content-type": "application/json" };

/** Writes as long as it is read. */
const endless =
  (chunk: string): Answer =>
  (_request, response) => {
    response.writeHead(200, json).write('{"flags":{');
    const go = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", go);
    go();
  };

/** Writes a little now and then. */
const dripping: Answer = (_request, response) => {
  response.writeHead(200, json);
  const timer = setInterval(() => response.write(" "), 20);
  response.once("close", () => clearInterval(timer));
};

const attacks: readonly (readonly [what: string, answer: Answer, reason: string])[] = [
  [
    "leads to another host",
    (_request, response) => void response.writeHead(302, { location: "http://169.254.169.254/latest" }).end(),
    "Redirect",
  ],
  [
    "sends a hundred megabytes that are packed in a hundred kilobytes",
    (_request, response) => void response.writeHead(200, { ...json, "content-encoding": "gzip" }).end(bomb),
    "TooLarge",
  ],
  ["sends without end", endless(`"x${"y".repeat(10_000)}":1,`), "TooLarge"],
  [
    "announces more than it may send",
    (_request, response) => {
      response.writeHead(200, { ...json, "content-length": String(2 ** 40) }).write("{");
    },
    "TooLarge",
  ],
  ["sends slowly without end", dripping, "Timeout"],
  [
    "nests deep",
    (_request, response) => void response.end(`{"flags":{"a":{"targeting":${deep}}}}`),
    "DocumentInvalid",
  ],
  [
    "sends no flags but garbage",
    (_request, response) => void response.end('{"flags":{"a":1,"b":[]}}'),
    "DocumentInvalid",
  ],
  [
    "sends bytes that are no text",
    (_request, response) => void response.end(Buffer.alloc(99, 0xff)),
    "DocumentInvalid",
  ],
];
/** Made once: 100 MB take a while. */
const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024, 0x20));

describe("A source of provider remote whose remote is hostile", () => {
  let directory: TempDirectory;
  let server: HttpServer;
  let stops: (() => Promise<void>)[];
  beforeEach(async () => {
    stops = [];
    directory = new TempDirectory();
    directory.replace("base.json", textOf("ours", "own"));
    server = new HttpServer();
    await server.start();
  });
  afterEach(async () => {
    for (const stop of stops) await stop();
    await server.stop();
    directory.remove();
  });

  /** Runs a source at twenty times the speed, with this remote. */
  function run(
    uri: string,
    host: string,
  ): { readonly source: SyncSource; readonly has: (part: string) => Promise<void> } {
    const probe = new SourceProbe(new FastClock(20));
    const source = createSyncSource(
      {
        ...{ provider: "remote", sourceIndex: 0, selector: "", path: directory.file("base.json") },
        ...{ certPath: "", tokenFile: "", tokenBinding: undefined, uri },
        hosts: [parseAllowedHost(host)],
        remote: { type: "http", uri, strategy: "merge", allowEmpty: false, intervalMs: 5_000 },
      },
      probe.options,
    );
    const abort = new AbortController();
    const ended = source.run(abort.signal);
    stops.push(() => {
      abort.abort();
      return ended;
    });
    const has = async (part: string): Promise<void> => {
      await probe.deliveries.nextMatching(({ bytes }) => bytes.includes(part), part);
    };
    return { source, has };
  }

  for (const [what, answer, reason] of attacks)
    it(`serves the file's flags, and edits of it, though the remote ${what}`, async () => {
      server.answer = answer;
      const { source, has } = run(server.origin, `${server.origin}=127.0.0.0/8`);
      await has('"own"');
      await eventually(() => source.status().remote?.reason === reason, `${reason} is told`).catch(
        (error: unknown) => {
          throw new Error(`${String(error)}, but ${JSON.stringify(source.status().remote)}`);
        },
      );
      directory.replace("base.json", textOf("ours", "edited"));
      await has('"edited"');
      await eventually(() => server.open <= 1, "it has one connection at most");
      server.answer = (_request, response) => void response.end(textOf("theirs", "remote"));
      await has('"theirs"');
    });

  for (const [uri, host] of [
    ["http://[::ffff:127.0.0.1]:PORT/", "http://[::ffff:127.0.0.1]:PORT"],
    ["http://[::1]:PORT/", "http://[::1]:PORT"],
    ["http://2130706433:PORT/", "http://127.0.0.1:PORT"],
    ["http://127.1:PORT/", "http://127.0.0.1:PORT"],
    ["http://localhost:PORT/", "http://localhost:PORT"],
  ] as const)
    it(`does not call ${uri}, though its host is listed, for its network is not`, async () => {
      const at = (text: string): string => text.replace("PORT", String(server.port));
      const { source, has } = run(at(uri), at(host));
      await has('"own"');
      await eventually(() => source.status().remote?.reason === "AddressRefused", "the refusal");
      expect(server.connections).to.equal(0);
    });
});
