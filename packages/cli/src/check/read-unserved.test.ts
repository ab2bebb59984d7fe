import { expect } from "chai";
import type { ClusterReader } from "../operator/cluster-reader.js";
import { objectNames } from "../operator/operator-names.js";
import type { ShownPod } from "../operator/shown-pod.js";
import type { ClusterSurvey } from "./cluster-survey.js";
import type { SidecarsOfTopic } from "./pod-survey.js";
import { readUnserved } from "./read-unserved.js";

describe("readUnserved", () => {
  function podOf(name: string): ShownPod {
    return { metadata: { namespace: "team", name }, spec: { containers: [{ name: objectNames.sidecar }] } };
  }

  it("asks each Pod once, whatever it is to have, and few at a time: each takes a connection", async () => {
    const pods = Array.from({ length: 50 }, (_, index) => podOf(`pod-${index}`));
    const topics = Array.from({ length: 10 }, (_, index) => `team/flags-${index}`);
    const readers = new Map<string, SidecarsOfTopic>(
      topics.map((topic) => [topic, { count: pods.length, pods }]),
    );
    const asked: string[] = [];
    let [open, mostOpen] = [0, 0];
    const reader: Pick<ClusterReader, "signal" | "dialPod"> = {
      signal: new AbortController().signal,
      dialPod: async ({ pod }) => {
        asked.push(pod);
        mostOpen = Math.max(mostOpen, ++open);
        await new Promise(setImmediate);
        open--;
        throw Object.assign(new Error("no such port"), { code: "ECONNREFUSED" });
      },
    };
    const survey = {
      reader,
      proxies: () => Promise.resolve([]),
      pods: () => Promise.resolve({ readers }),
    } as unknown as ClusterSurvey;
    const facts = await readUnserved(survey);
    expect(asked.toSorted()).to.deep.equal(pods.map(({ metadata }) => metadata?.name).toSorted());
    expect(mostOpen).to.be.at.most(20);
    expect(facts.topics.map((one) => [one.topic, one.asked.length])).to.deep.equal(
      topics.map((topic) => [topic, pods.length]),
    );
    expect(facts.topics[9]?.asked[49]).to.deep.include({ namespace: "team", name: "pod-49" });
  });
});
