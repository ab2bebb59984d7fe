import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { CorpusRun, type Judgement } from "./protocol/corpus-run.js";
import { deliberateDifferences } from "./protocol/deliberate-differences.js";
import { readGoldenCases } from "./protocol/golden-case.js";
import { openDifferences } from "./protocol/open-differences.js";
import { casesOver, type TransportName } from "./protocol/transport.js";

const docs = path.join(import.meta.dirname, "../../docs");
const cases = readGoldenCases();
const transports: readonly TransportName[] = ["TCP", "unix sockets", "TLS"];

function brief(value: unknown): string {
  return JSON.stringify(value ?? "absent").slice(0, 300);
}

function explain({ one, open }: Judgement): string {
  const { request, about, id, server } = one;
  const places = open
    .slice(0, 3)
    .map(({ path: at, want, got }) => `${at.join(".")}: ${brief(want)} → ${brief(got)}`);
  const asked = `${request.port} ${request.http} ${request.method ?? ""} ${request.path ?? ""} ${server.args.join(" ")}`;
  return [`${id}: ${about}`, `    ${asked}`, ...places.map((place) => `    ${place}`)].join("\n");
}

/** What the real flagd answered to 3,020 requests over all its protocols; docs/protocol-differences.md says where ours differ. */
describe("the recorded answers of flagd", () => {
  for (const transport of transports) {
    describe(`over ${transport}`, () => {
      const asked = casesOver(transport, cases);
      const run = new CorpusRun(asked, transport);

      before(async function () {
        this.timeout(600_000);
        await run.run(openDifferences);
      });

      for (const name of [...new Set(asked.map((one) => one.class))].sort()) {
        const expected = openDifferences[name] ?? 0;
        it(`${name}: ${expected === 0 ? "all are ours, or differ on purpose" : `${expected} differ, and no more`}`, () => {
          const open = run.openOf(name);
          const message = `lower it in open-differences.ts if fewer differ:\n${open.slice(0, 12).map(explain).join("\n")}`;
          expect(open.length, message).to.equal(expected);
        });
      }

      if (transport !== "TCP") return;
      for (const {
        name,
        docs: [page, words],
      } of deliberateDifferences) {
        it(`${name}: a difference on purpose, which is in the docs and still there`, () => {
          expect(readFileSync(path.join(docs, page), "utf8")).to.include(words);
          expect(run.has(name)).to.equal(true);
        });
      }
    });
  }
});
