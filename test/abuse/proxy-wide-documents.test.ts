import type { TopicKey } from "@bunting/protocol";
import { expect } from "chai";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { MemoryCgroup } from "../support/memory-cgroup.js";
import { portOf, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { scaled } from "../support/scale.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TopicAnswers } from "../support/topic-answers.js";
import { mebibyte } from "./support/vitals.js";

const limitBytes = 512 * mebibyte;
/** The proxy has memory for some thirty. */
const featureFlags = scaled(300, 60);
/** A namespace may not hold all of the memory by itself, and these together may. */
const namespaces = 30;
const flagsPerDocument = 14;

/** Close to the largest FeatureFlag that etcd takes. */
function specOf(flagBytes: number, character: string): object {
  const flag = {
    state: "ENABLED",
    variants: { is: character.repeat(flagBytes / Buffer.byteLength(character)) },
    defaultVariant: "is",
  };
  const names = Array.from({ length: flagsPerDocument }, (_, i) => `flag-${i}`);
  return { flagSpec: { flags: Object.fromEntries(names.map((name) => [name, flag])) } };
}

const topics = Array.from({ length: featureFlags }, (_, i): TopicKey => `team-${i % namespaces}/flags-${i}`);

const wide = { "characters of three bytes": "語" };
const texts = scaled<Readonly<Record<string, string>>>({ ...wide, ASCII: "x" }, wide);

describe("a proxy in a container of 512 MiB whose FeatureFlags all grow to what etcd takes", function () {
  this.timeout(300_000);
  const cleanUps: (() => unknown)[] = [];
  let group: MemoryCgroup;
  let api: FaultyApiServer;
  let proxy: ProxyProcess;
  let answers: TopicAnswers;

  before(function () {
    if (!MemoryCgroup.isAvailable) this.skip();
  });
  beforeEach(async () => {
    answers = new TopicAnswers();
    cleanUps.push(() => answers.close());
    group = new MemoryCgroup(limitBytes);
    cleanUps.push(() => group.remove());
    api = await FaultyApiServer.start();
    cleanUps.push(() => api.close());
    for (const topic of topics) put(topic, specOf(0, "x"));
    const account = new TempDirectory();
    cleanUps.push(() => account.remove());
    account.replace("token", "any");
    account.replace("ca.crt", api.ca);
    const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) };
    proxy = await startProxyInPod({ directory: account.path, environment }, [], { wrapper: group.wrapper });
    cleanUps.push(() => proxy.process.stop("SIGKILL"));
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  function put(topic: TopicKey, spec: object): void {
    const [namespace = "", name = ""] = topic.split("/");
    api.put(namespace, name, spec);
  }

  for (const [text, character] of Object.entries(texts))
    it(`says of those that do not fit that they are stale, and serves each when others shrink (${text})`, async () => {
      await answers.follow(portOf(proxy), topics);
      for (const topic of topics) {
        await answers.edit(topic, () => put(topic, specOf(90_000, character)));
        expect(group.kills, `killed for its memory: ${topic}`).to.equal(0);
      }
      const waiting = answers.stale;
      const served = topics.filter((topic) => !waiting.includes(topic));
      expect(waiting.length).to.be.greaterThan(0);
      // Each makes room for another, which nobody edits again.
      for (const topic of served) await answers.edit(topic, () => put(topic, specOf(3, "x")));
      const left = Math.max(0, waiting.length - Math.floor(served.length / 2));
      await answers.until(() => answers.stale.length <= left, "others are served");
      expect(group.kills, "killed for its memory").to.equal(0);
    });
});
