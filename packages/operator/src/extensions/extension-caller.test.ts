import { expect } from "chai";
import type { ExtensionAnswer, ExtensionObject } from "@bunting/extension";
import { parseAllowedHost } from "@bunting/outbound";
import { eventually } from "@bunting/test/support/event-queue.js";
import { HttpServer, type Answer } from "@bunting/test/support/http-server.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import type { Extension, ExtensionSpec } from "../api/extension.js";
import { keptMs } from "./answer-cache.js";
import { ExtensionCaller, failedPauseMs, type ExtensionQuestion } from "./extension-caller.js";
import { storedExtension } from "./extension.fixture.js";
import { OutOfTime } from "./out-of-time.js";

const never = new AbortController().signal;

function question(object: Partial<ExtensionObject> = {}): ExtensionQuestion {
  return {
    hook: "pre-create",
    target: "Sidecar",
    operation: "CREATE",
    dryRun: false,
    namespace: { name: "shop", labels: {}, annotations: {} },
    object: {
      apiVersion: "bunting.dev/v1alpha1",
      kind: "Sidecar",
      metadata: { name: "storefront" },
      ...object,
    },
  };
}

const unchanged: Answer = (_request, response) => void response.writeHead(204).end();

describe("ExtensionCaller", () => {
  let server: HttpServer;
  let clock: ManualClock;
  let caller: ExtensionCaller;
  let calls: string[];
  beforeEach(async () => {
    server = new HttpServer();
    await server.start();
    server.answer = unchanged;
    clock = new ManualClock();
    calls = [];
    caller = callerOf([`http://127.0.0.1:${server.port}=127.0.0.1`]);
  });
  afterEach(async () => {
    caller.keep([]);
    await eventually(() => server.open === 0, "no connection is left");
    await server.stop();
  });

  function callerOf(hosts: readonly string[]): ExtensionCaller {
    return new ExtensionCaller({
      hosts: hosts.map(parseAllowedHost),
      token: () => Promise.resolve("of-the-operator"),
      clock,
      onCalled: (extension, kind) => void calls.push(`${extension.metadata.name} ${kind}`),
    });
  }

  function extension(spec: Partial<ExtensionSpec> = {}): Extension {
    return storedExtension("qos", { url: `${server.origin}/hook`, ...spec });
  }

  const ask = (asked = question(), one = extension()): Promise<ExtensionAnswer> =>
    caller.ask(one, asked, never);

  it("posts the object with the operator's token for extensions", async () => {
    expect(await ask()).to.deep.equal({ kind: "unchanged" });
    const { method, path, headers, body } = await server.requests.nextEvent();
    expect([method, path]).to.deep.equal(["POST", "/hook"]);
    expect(headers.authorization).to.equal("Bearer of-the-operator");
    const { uid, ...sent } = JSON.parse(body) as { readonly uid: string };
    expect(uid).to.match(/^[0-9a-f-]{36}$/);
    expect(sent).to.deep.equal(question());
    expect(calls).to.deep.equal(["qos unchanged"]);
  });

  it("asks the same only once in ten minutes, although the answers would differ each time", async () => {
    let answered = 0;
    server.answer = (_request, response) => {
      const { object } = question();
      const labels = { number: String(++answered) };
      response.end(JSON.stringify({ ...object, metadata: { ...object.metadata, labels } }));
    };
    const first = await ask();
    expect(await ask()).to.deep.equal(first);
    clock.advance(keptMs - 1);
    expect(await ask()).to.deep.equal(first);
    expect(answered).to.equal(1);
    clock.advance(1);
    expect(await ask()).not.to.deep.equal(first);
    expect(answered).to.equal(2);
  });

  it("asks again about another object, and for another version of the Extension", async () => {
    await ask();
    await ask(question({ spec: {} }));
    const one = extension();
    await ask(question(), { ...one, metadata: { ...one.metadata, generation: 2 } });
    expect(calls).to.have.length(3);
  });

  it("bounds a body of 10 MB", async () => {
    server.answer = (_request, response) => void response.end("x".repeat(10_000_000));
    expect(await ask()).to.deep.equal({ kind: "failed", reason: "its answer has more than 1 MB" });
  });

  it("repeats no control characters of a header, nor all of a long one", async () => {
    server.answer = (_request, response) =>
      void response.writeHead(200, { "content-encoding": `\x9b31m${"x".repeat(10_000)}` }).end("{}");
    const answer = await ask();
    const { reason } = answer.kind === "failed" ? answer : { reason: answer.kind };
    expect(reason).to.match(/as \?31mx/);
    expect(reason.length).to.be.at.most(500);
  });

  it("repeats no token that an extension repeats", async () => {
    server.answer = ({ headers }, response) =>
      void response.writeHead(422, { "content-type": "text/plain" }).end(JSON.stringify(headers));
    const answer = await ask();
    expect(answer).to.include({ kind: "refused" });
    expect(JSON.stringify(answer)).to.contain("Bearer [redacted]").and.to.not.contain("of-the-operator");
  });

  it("fails, and is asked again, where an extension goes on in another protocol", async () => {
    server.answer = (_request, response) =>
      void response.writeHead(101, { connection: "upgrade", upgrade: "h2c" }).end();
    const answer = await ask();
    expect(answer).to.deep.include({ kind: "failed" });
    server.answer = unchanged;
    clock.advance(failedPauseMs);
    expect(await ask()).to.deep.equal({ kind: "unchanged" });
  });

  it("follows no redirect, as to a cloud's metadata", async () => {
    server.answer = (_request, response) =>
      void response.writeHead(307, { location: "http://169.254.169.254/latest/meta-data" }).end();
    expect(await ask()).to.deep.equal({ kind: "failed", reason: "it answered 307" });
  });

  it("gives up an answer that drips on, at the end of its time", async () => {
    server.answer = (_request, response) => void response.write("{");
    const answer = ask(question(), extension({ timeout: "3s" }));
    await server.requests.nextEvent();
    await eventually(() => clock.hasTimerIn(3_000), "the time of the call runs");
    clock.advance(3_000);
    const { kind, reason } = (await answer) as { readonly kind: string; readonly reason: string };
    expect(kind).to.equal("failed");
    expect(reason).to.match(/has not answered completely within 3 s$/);
  });

  it("calls no host that is not listed, and no metadata service whatever is listed", async () => {
    caller = callerOf(["http://169.254.169.254=169.254.0.0/16", "http://localhost"]);
    const reason = async (url: string): Promise<string> => {
      const one = storedExtension(url, { url });
      const answer = await caller.ask(one, question(), never);
      return answer.kind === "failed" ? answer.reason : answer.kind;
    };
    expect(await reason("http://extensions.example/")).to.contain("is not in --extension-hosts");
    expect(await reason("http://169.254.169.254/latest")).to.contain("of a cloud's metadata service");
    expect(await reason("http://localhost/")).to.contain("loopback");
  });

  it("calls a Service by its name in the cluster, with TLS if it is given an authority", async () => {
    const service = { namespace: "tools", name: "qos", port: 8443, path: "/hook" };
    for (const caBundle of [undefined, "no certificate"]) {
      const spec = { service, ...(caBundle === undefined ? {} : { caBundle }) };
      const answer = await ask(question(), storedExtension(`with ${String(caBundle)}`, spec));
      expect(answer.kind).to.equal("failed");
      if (answer.kind === "failed") expect(answer.reason).to.contain("qos.tools.svc");
    }
  });

  it("leaves an extension alone for a while that has failed", async () => {
    server.answer = (_request, response) => void response.writeHead(503).end();
    const failed = { kind: "failed", reason: "it answered 503" };
    expect(await ask()).to.deep.equal(failed);
    server.answer = unchanged;
    expect(await ask(question({ spec: {} }))).to.deep.equal(failed);
    expect(calls).to.have.length(1);
    clock.advance(failedPauseMs);
    expect(await ask()).to.deep.equal({ kind: "unchanged" });
  });

  it("asks about the objects of others while it fails at one, and about that one not at once again", async () => {
    const poison = question({ spec: { poison: true } });
    const answers: readonly Answer[] = [
      (_request, response) => void response.writeHead(500).end(),
      (_request, response) => void response.end("{"),
      (_request, response) => void response.end("x".repeat(2_000_000)),
    ];
    for (const answer of answers) {
      server.answer = answer;
      const { kind } = await ask(poison);
      expect(kind).to.equal("failed");
      server.answer = unchanged;
      const other = question({ spec: { number: answers.indexOf(answer) } });
      expect(await ask(other)).to.deep.equal({ kind: "unchanged" });
      expect((await ask(poison)).kind).to.equal("failed");
      clock.advance(failedPauseMs);
    }
    const huge = question({ spec: { text: "x".repeat(1_000_000) } });
    expect((await ask(huge)).kind).to.equal("failed");
    expect(await ask(question({ spec: { number: 9 } }))).to.deep.equal({ kind: "unchanged" });
    expect(await ask(poison)).to.deep.equal({ kind: "unchanged" });
  });

  it("tries again twice where a connection breaks", async () => {
    let broken = 0;
    const breaking =
      (times: number): Answer =>
      (request, response) =>
        broken++ < times ? void response.destroy() : unchanged(request, response);
    server.answer = breaking(2);
    expect(await ask()).to.deep.equal({ kind: "unchanged" });
    broken = 0;
    server.answer = breaking(3);
    const other = storedExtension("other", { url: server.origin });
    expect((await ask(question(), other)).kind).to.equal("failed");
    expect(broken).to.equal(3);
  });

  it("has the answers of each version of an Extension from its own service, also where one is edited while it is asked", async () => {
    const releases: (() => void)[] = [];
    server.answer = (request, response) => void releases.push(() => unchanged(request, response));
    const old = extension();
    const edited: Extension = {
      ...old,
      metadata: { ...old.metadata, generation: 2 },
      spec: { ...old.spec, url: `${server.origin}/edited` },
    };
    const paths = async (): Promise<string> => (await server.requests.nextEvent()).path;
    caller.keep([old]);
    const [first, second] = [ask(), ask(question({ spec: {} }))];
    expect(await paths()).to.equal("/hook");
    caller.keep([edited]);
    const third = ask(question(), edited);
    expect(await paths()).to.equal("/edited");
    releases.shift()?.();
    expect(await first).to.deep.equal({ kind: "unchanged" });
    expect(await paths()).to.equal("/hook");
    for (const release of releases) release();
    expect(await second).to.deep.equal({ kind: "unchanged" });
    expect(await third).to.deep.equal({ kind: "unchanged" });
    await eventually(() => server.open === 1, "the connection of the old version ends with its last answer");
  });

  it("takes one for away that its asker has given time enough, and says nothing of one that had little", async () => {
    server.answer = () => undefined;
    const asking = async (ms: number): Promise<unknown> => {
      const abort = new AbortController();
      const asked = caller.ask(extension(), question(), abort.signal);
      const answer = asked.catch((error: unknown) => error);
      await server.requests.nextEvent();
      clock.advance(ms);
      abort.abort(new OutOfTime("it has not answered within a second"));
      return answer;
    };
    expect(await asking(499)).to.be.instanceOf(OutOfTime);
    expect(calls).to.deep.equal([]);
    const late = { kind: "failed", reason: "it has not answered within a second" };
    expect(await asking(500)).to.deep.equal(late);
    expect(calls).to.deep.equal(["qos failed"]);
    expect(await ask()).to.deep.equal(late);
    expect(calls).to.have.length(1);
  });

  it("ends when it is told to", async () => {
    const abort = new AbortController();
    server.answer = () => undefined;
    const answer = caller.ask(extension(), question(), abort.signal);
    await server.requests.nextEvent();
    abort.abort(new Error("the operator stops"));
    let ended: unknown;
    await answer.catch((error: unknown) => (ended = error));
    expect(ended).to.equal(abort.signal.reason);
  });
});
