import type { TopicKey } from "@bunting/protocol";
import { expect } from "chai";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { portOf, startProxyInPod, startProxyOn, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TopicAnswers } from "../support/topic-answers.js";

/** In so small a heap there is memory for some forty documents. */
const smallHeap = { NODE_OPTIONS: "--max-old-space-size=96" };
const quickDrain = ["--drain-delay", "0", "--drain-window", "0"];
const topics = Array.from({ length: 60 }, (_, i): TopicKey => `team-${i}/flags`);

/** What a proxy with a small heap reads FeatureFlags from. */
interface Origin {
  readonly proxy: ProxyProcess;
  readonly write: (topic: TopicKey, spec: object) => void;
}

function specOf(bytes: number): object {
  return {
    flagSpec: {
      flags: { f: { state: "ENABLED", variants: { is: "x".repeat(bytes) }, defaultVariant: "is" } },
    },
  };
}

describe("a proxy whose documents fill its memory", function () {
  this.timeout(120_000);
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  function folder(): TempDirectory {
    const directory = new TempDirectory();
    cleanUps.push(() => directory.remove());
    return directory;
  }

  function running(proxy: ProxyProcess): ProxyProcess {
    cleanUps.push(() => proxy.process.stop("SIGKILL"));
    return proxy;
  }

  function writeTo(directory: TempDirectory): Origin["write"] {
    return (topic, spec) => {
      const [namespace = "", name = ""] = topic.split("/");
      const metadata = { namespace, name };
      const manifest = { apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlag", metadata, spec };
      directory.replace(`${namespace}.json`, JSON.stringify(manifest));
    };
  }

  async function ofCluster(args: readonly string[] = []): Promise<Origin> {
    const api = await FaultyApiServer.start();
    cleanUps.push(() => api.close());
    const account = folder();
    account.replace("token", "any");
    account.replace("ca.crt", api.ca);
    const write: Origin["write"] = (topic, spec) => {
      const [namespace = "", name = ""] = topic.split("/");
      api.put(namespace, name, spec);
    };
    for (const topic of topics) write(topic, specOf(1));
    const address = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) };
    const pod = { directory: account.path, environment: { ...address, ...smallHeap } };
    return { proxy: running(await startProxyInPod(pod, args)), write };
  }

  const origins: Readonly<Record<string, () => Promise<Origin>>> = {
    "a cluster": () => ofCluster(),
    "a cluster, with copies on disk": () => ofCluster(["--cache-dir", folder().path]),
    "another proxy": async () => {
      const directory = folder();
      const write = writeTo(directory);
      for (const topic of topics) write(topic, specOf(1));
      const { sync } = running(await startProxyOn(`dir:${directory.path}`, quickDrain));
      return { proxy: running(await startProxyOn(`upstream:${sync}`, quickDrain, smallHeap)), write };
    },
  };

  for (const [name, originOf] of Object.entries(origins))
    it(`serves what it had no memory for once others have shrunk, which nobody edits again (from ${name})`, async () => {
      const { proxy, write } = await originOf();
      const answers = new TopicAnswers();
      cleanUps.push(() => answers.close());
      await answers.follow(portOf(proxy), topics);
      for (const topic of topics) await answers.edit(topic, () => write(topic, specOf(450_000)));
      const waiting = answers.stale;
      expect(waiting.length).to.be.within(1, topics.length - 1);
      for (const topic of topics)
        if (!waiting.includes(topic)) await answers.edit(topic, () => write(topic, specOf(2)));
      await answers.until(() => answers.stale.length === 0, "all are served");
    });
});
